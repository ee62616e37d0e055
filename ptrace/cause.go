// SPDX-License-Identifier: Apache-2.0

package ptrace

import (
	"os"

	"prywalk/internal/procmem"
)

// Cause says why a freeze was long.
type Cause uint8

// The causes. Of several the one that took most of the time is told.
const (
	// CauseCopy: much memory was copied.
	CauseCopy Cause = iota
	// CauseFault: pages of the target's memory had to be provided first, by the kernel or from a disk.
	CauseFault
	// CauseLock: the tracer's thread waited in the kernel for a lock, such as that of the target's mappings.
	CauseLock
	// CausePreempted: another thread took the processor from the tracer's thread.
	CausePreempted
	// CauseStolen: the processor stood still while the tracer's thread had it: the hypervisor had given it to others.
	CauseStolen
	// CauseTurn: the thread had stopped, and the tracer's thread was at work for other looks.
	CauseTurn
	// CauseOther: none of these can be seen. Interrupts, cold caches, a hypervisor that does not tell.
	CauseOther

	NumCauses
)

// String gives the name that JSON uses.
func (c Cause) String() string {
	return [...]string{"copy", "fault", "lock", "preempted", "stolen", "turn", "other", "?"}[min(c, NumCauses)]
}

// account is what the kernel has counted for the tracer's thread up to a moment.
type account struct {
	at, cpu           int64 // CLOCK_MONOTONIC and processor time, ns
	faults, fromDisk  int64 // pages that were provided for it, in any memory: reads of the target's count as its own
	waited, preempted int64 // how often it left its processor
	sleeps, slept     int64 // see tally
}

// tally is what the tracer's thread knows of itself.
type tally struct {
	sleeps, slept int64 // how often it slept because it wanted to, and how long, ns
}

// begin gives how things stand. It is called after an interrupt: the thread that was asked to stop takes longer for
// that.
func (t *tally) begin() account {
	procmem.CountWait() // both calls only pass the time until the first question makes sense
	procmem.CountWait()
	return t.now()
}

// now reads the kernel's account.
func (t *tally) now() account {
	a := ownAccount()
	a.sleeps, a.slept = t.sleeps, t.slept
	return a
}

// sleptSince notes a sleep that began at a moment and ended at another.
func (t *tally) sleptSince(began, ended int64) {
	t.sleeps++
	t.slept += max(ended-began, 0)
}

// evidence is what is known of a freeze.
type evidence struct {
	// The parts of its length: from when the thread was last seen not stopped until it was seen stopped, and until it
	// was let go of.
	unseen, inside int64
	copying        int64 // the part of inside in which memory was read
	bytes          int64 // that were copied
	// Of the tracer's thread, since the interrupt: how long it was off its processor though it did not want to sleep,
	// and what else it went through.
	off, waited, preempted, faults, fromDisk int64
}

const (
	perFault    = 1000 // ns that a page takes which the kernel has to provide
	perByte     = 4    // a copy is much if it takes no more than so many ns a byte on average, and mostly it takes a half
	mostWaiting = 2    // a part that took so much of the whole (1/2) is what made it long
)

// cause judges.
func (e *evidence) cause() Cause {
	total := e.unseen + e.inside
	if e.off >= total/mostWaiting {
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

// faulted reports whether it was the pages that had to be provided that made the copy long. They take most of its
// time, or were most of its pages, whatever one takes on this machine.
func (e *evidence) faulted() bool {
	return e.faults*perFault >= e.copying/mostWaiting || e.faults > 0 && e.faults*pageSize >= e.bytes/mostWaiting
}

// pageSize is the kernel's: 4 KiB, on arm64 up to 64 KiB.
var pageSize = int64(os.Getpagesize())

// Why tells why the freeze that was finished last was long, as out tells of it, with the bytes that were copied. It is
// to be called straight after Finish, and only if the freeze was long: the kernel is asked what has happened to this
// thread since that look's interrupt.
func (c *Controller) Why(out *Stop, copied int64) Cause {
	now, began := c.own.now(), &c.last.began
	procmem.CountWait() // how many freezes are long is the machine's mood, and so are these two calls
	procmem.CountWait()
	e := evidence{
		unseen: out.Stop - out.Running, inside: out.Detach - out.Stop,
		copying: out.Copied - out.Taken, bytes: copied,
		off:    now.at - began.at - (now.cpu - began.cpu) - (now.slept - began.slept),
		waited: now.waited - began.waited - (now.sleeps - began.sleeps), preempted: now.preempted - began.preempted,
		faults: now.faults - began.faults, fromDisk: now.fromDisk - began.fromDisk,
	}
	return e.cause()
}
