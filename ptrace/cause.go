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
	CauseCopy      Cause = iota // much memory was copied
	CauseFault                  // pages of the target were faulted in
	CauseLock                   // the tracer waited for a kernel lock, such as mmap_lock
	CausePreempted              // another thread took the tracer's CPU
	CauseStolen                 // the hypervisor took the tracer's CPU (steal time)
	CauseTurn                   // the tracer was busy with other threads
	CauseOther                  // the rest: interrupts, cold caches, unreported steal time

	NumCauses
)

// String returns the name in JSON.
func (c Cause) String() string {
	return [...]string{"copy", "fault", "lock", "preempted", "stolen", "turn", "other", "?"}[min(c, NumCauses)]
}

// threadCounters are the kernel's counts of the tracer's thread, and its intended sleeps.
type threadCounters struct {
	wall, cpu         int64 // CLOCK_MONOTONIC and CPU time, ns
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
	counters := readCounters()
	counters.sleeps, counters.slept = c.sleeps, c.slept
	return counters
}

func (c *sleepCounters) noteSleep(began, ended int64) {
	c.sleeps++
	c.slept += max(ended-began, 0)
}

// evidence decides on the cause. Times are in ns.
type evidence struct {
	detectionDelay int64 // from when the thread was last seen running to when it was seen stopped
	held           int64 // from then to the detach
	copying        int64 // part of held: reading memory
	bytes          int64 // read
	// Of the tracer's thread since the interrupt: time off its CPU beyond intended sleeps, and the growth of counters.
	offCPU, waited, preempted, faults, fromDisk int64
}

const (
	faultTime   = 1000 // ns per page fault, assumed
	maxByteTime = 4    // most ns per byte of a large copy (usual: 0.5)
	causeShare  = 2    // a cause takes at least 1/causeShare of the stop
)

func (e *evidence) cause() Cause {
	total := e.detectionDelay + e.held
	if e.offCPU >= total/causeShare {
		switch {
		case e.fromDisk > 0:
			return CauseFault
		case e.waited > 0:
			return CauseLock
		case e.preempted > 0:
			return CausePreempted
		}
		return CauseStolen
	}
	switch {
	case e.detectionDelay >= e.held:
		return CauseTurn
	case e.copying < e.held/causeShare:
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
		detectionDelay: out.StoppedAt - out.LastRunningAt, held: out.DetachedAt - out.StoppedAt,
		copying: out.MemoryReadAt - out.RegsReadAt, bytes: copied,
		offCPU: now.wall - began.wall - (now.cpu - began.cpu) - (now.slept - began.slept),
		waited: now.waited - began.waited - (now.sleeps - began.sleeps), preempted: now.preempted - began.preempted,
		faults: now.faults - began.faults, fromDisk: now.fromDisk - began.fromDisk,
	}
	return e.cause()
}
