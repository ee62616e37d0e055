// SPDX-License-Identifier: Apache-2.0

package ptrace

import (
	"os"

	"prywalk/internal/procmem"
)

// Cause is why a stop was long.
type Cause uint8

// Of several causes, the longest counts.
const (
	// CauseCopy means that much memory was copied.
	CauseCopy Cause = iota
	// CauseFault means that pages of the target had to be provided.
	CauseFault
	// CauseLock means that the tracer's thread waited for a kernel lock, such as that of the mappings.
	CauseLock
	// CausePreempted means that another thread took the tracer's processor.
	CausePreempted
	// CauseStolen means that the hypervisor took the tracer's processor (steal time).
	CauseStolen
	// CauseTurn means that the tracer was busy with other threads.
	CauseTurn
	// CauseOther is the rest: interrupts, cold caches, unreported steal time.
	CauseOther

	NumCauses
)

// String gives the name that JSON uses.
func (c Cause) String() string {
	return [...]string{"copy", "fault", "lock", "preempted", "stolen", "turn", "other", "?"}[min(c, NumCauses)]
}

// threadCounters are the kernel's counts of the tracer's thread, and its sleeps.
type threadCounters struct {
	at, cpu           int64 // CLOCK_MONOTONIC and processor time, ns
	faults, fromDisk  int64 // minor and major faults, in any memory
	waited, preempted int64 // voluntary and involuntary context switches
	sleeps, slept     int64
}

// sleepCounters count the intended sleeps of the tracer's thread, and their length in ns.
type sleepCounters struct {
	sleeps, slept int64
}

// begin reads the counters after an interrupt, while the thread is on its way into the stop.
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

// evidence is what is known of a stop. Times are in ns.
type evidence struct {
	// unseen is the time from last seen running to seen stopped, inside that from seen stopped to the detach.
	unseen, inside int64
	copying        int64 // reading memory
	bytes          int64
	// What happened to the tracer's thread since the interrupt: the time off its processor beyond intended sleeps, and the
	// growth of its counters.
	offProcessor, waited, preempted, faults, fromDisk int64
}

const (
	perFault    = 1000 // ns, assumed time of a page fault
	perByte     = 4    // ns, longest time of a byte in a large copy (usual: 0.5)
	mostWaiting = 2    // a cause takes at least 1/mostWaiting of the whole
)

func (e *evidence) cause() Cause {
	total := e.unseen + e.inside
	if e.offProcessor >= total/mostWaiting {
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
	case e.unseen >= e.inside:
		return CauseTurn
	case e.copying < e.inside/mostWaiting:
		return CauseOther
	case e.fromDisk > 0 || e.faulted():
		return CauseFault
	case e.bytes*perByte >= e.copying:
		return CauseCopy
	}
	return CauseOther
}

func (e *evidence) faulted() bool {
	return e.faults*perFault >= e.copying/mostWaiting || e.faults > 0 && e.faults*pageSize >= e.bytes/mostWaiting
}

var pageSize = int64(os.Getpagesize())

// Why gives the cause of the stop that the last Finish returned in out, with the bytes copied. Call it at once:
// it reads the kernel's counts since the interrupt.
func (c *Controller) Why(out *Stop, copied int64) Cause {
	now, began := c.counters.now(), &c.began
	procmem.CountWait()
	procmem.CountWait()
	e := evidence{
		unseen: out.Stop - out.Running, inside: out.Detach - out.Stop,
		copying: out.Copied - out.Taken, bytes: copied,
		offProcessor: now.at - began.at - (now.cpu - began.cpu) - (now.slept - began.slept),
		waited:       now.waited - began.waited - (now.sleeps - began.sleeps), preempted: now.preempted - began.preempted,
		faults: now.faults - began.faults, fromDisk: now.fromDisk - began.fromDisk,
	}
	return e.cause()
}
