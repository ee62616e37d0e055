// SPDX-License-Identifier: Apache-2.0

package ptrace

import (
	"os"

	"prywalk/internal/procmem"
)

// Cause is why a stop was long.
type Cause uint8

// Of several causes the longest counts.
const (
	CauseCopy       Cause = iota // much memory was copied
	CauseFault                   // pages of the target were faulted in
	CauseLock                    // the tracer waited for a kernel lock, such as mmap_lock
	CausePreempted               // another thread took the tracer's CPU
	CauseSteal                   // the hypervisor took the tracer's CPU (steal time)
	CauseTracerBusy              // the tracer was busy with other threads
	CauseOther                   // the rest: interrupts, cold caches, unreported steal time

	NumCauses
)

// String returns the name in JSON.
func (c Cause) String() string {
	return [...]string{"copy", "fault", "lock", "preempted", "stolen", "turn", "other", "?"}[min(c, NumCauses)]
}

// threadCounters are the kernel's counts of the tracer's thread, and its intended sleeps.
type threadCounters struct {
	at, cpu           int64 // CLOCK_MONOTONIC and CPU time, ns
	faults, fromDisk  int64 // minor and major faults, in any memory
	waited, preempted int64 // voluntary and involuntary context switches
	sleeps, slept     int64
}

// sleepCounters count the tracer's intended sleeps and their length in ns.
type sleepCounters struct {
	sleeps, slept int64
}

// begin reads the counters just after an interrupt, while the target enters the stop.
func (c *sleepCounters) begin() threadCounters {
	procmem.CountWait()
	procmem.CountWait()
	return c.now()
}

func (c *sleepCounters) now() threadCounters {
	a := readCounters()
	a.sleeps, a.slept = c.sleeps, c.slept
	return a
}

func (c *sleepCounters) sleptSince(began, ended int64) {
	c.sleeps++
	c.slept += max(ended-began, 0)
}

// evidence decides on the cause. Times are in ns.
type evidence struct {
	// unseen is from last seen running to seen stopped, inside from then to the detach.
	unseen, inside int64
	copying        int64 // reading memory
	bytes          int64
	// of the tracer's thread since the interrupt: time off its CPU beyond intended sleeps, growth of counters
	offCPU, waited, preempted, faults, fromDisk int64
}

const (
	faultTime   = 1000 // ns per page fault, assumed
	maxByteTime = 4    // most ns per byte of a large copy (usual: 0.5)
	causeShare  = 2    // a cause takes at least 1/causeShare of the stop
)

func (e *evidence) cause() Cause {
	total := e.unseen + e.inside
	if e.offCPU >= total/causeShare {
		switch {
		case e.fromDisk > 0:
			return CauseFault
		case e.waited > 0:
			return CauseLock
		case e.preempted > 0:
			return CausePreempted
		}
		return CauseSteal
	}
	switch {
	case e.unseen >= e.inside:
		return CauseTracerBusy
	case e.copying < e.inside/causeShare:
		return CauseOther
	case e.fromDisk > 0 || e.faulted():
		return CauseFault
	case e.bytes*maxByteTime >= e.copying:
		return CauseCopy
	}
	return CauseOther
}

func (e *evidence) faulted() bool {
	return e.faults*faultTime >= e.copying/causeShare || e.faults > 0 && e.faults*pageSize >= e.bytes/causeShare
}

var pageSize = int64(os.Getpagesize())

// CauseOf returns the cause of the stop that the last Finish returned in out, of which copied bytes were read.
// Precondition: called directly after Finish.
func (c *Controller) CauseOf(out *Stop, copied int64) Cause {
	now, began := c.counters.now(), &c.lastAtInterrupt
	procmem.CountWait()
	procmem.CountWait()
	e := evidence{
		unseen: out.Stop - out.LastRunning, inside: out.Detach - out.Stop,
		copying: out.MemoryRead - out.RegsRead, bytes: copied,
		offCPU: now.at - began.at - (now.cpu - began.cpu) - (now.slept - began.slept),
		waited: now.waited - began.waited - (now.sleeps - began.sleeps), preempted: now.preempted - began.preempted,
		faults: now.faults - began.faults, fromDisk: now.fromDisk - began.fromDisk,
	}
	return e.cause()
}
