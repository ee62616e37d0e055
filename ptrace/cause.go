// SPDX-License-Identifier: Apache-2.0

package ptrace

import (
	"os"
	"time"

	"prywalk/internal/host/procmem"
)

// Cause is why a stop was long.
type Cause uint8

// The causes.
const (
	CauseCopy      Cause = iota // much memory was copied
	CauseFault                  // page faults in the target's memory
	CauseLock                   // wait for a kernel lock, such as mmap_lock; or this process was stopped (SIGSTOP)
	CausePreempted              // another thread had the tracer's CPU
	CauseStolen                 // steal time
	CauseTurn                   // the tracer was busy with other threads
	CauseOther                  // interrupts, cold caches, unreported steal time

	NumCauses
)

// String returns the name in JSON.
func (c Cause) String() string {
	return [...]string{"copy", "fault", "lock", "preempted", "stolen", "turn", "other", "?"}[min(c, NumCauses)]
}

type threadCounters struct {
	wall              Moment
	cpu               time.Duration
	faults, fromDisk  int64 // minor and major faults, in any memory
	waited, preempted int64 // voluntary and involuntary context switches
	intended          sleepCounters
}

// sleepCounters are of intended sleeps.
type sleepCounters struct {
	sleeps int64
	slept  time.Duration // without the time queued for a CPU after it ([ownQueue])
	late   int64         // sleeps after which another thread had the CPU
}

func (c *sleepCounters) begin() threadCounters {
	procmem.CountWait() // for the two calls of readCounters: late stops have more of them
	procmem.CountWait()
	return c.now()
}

func (c *sleepCounters) now() threadCounters {
	counters := readCounters()
	counters.intended = *c
	return counters
}

func (c *sleepCounters) countSleep(began, ended Moment, queued time.Duration) {
	c.sleeps++
	c.slept += max(ended.Sub(began)-queued, 0)
	if queued > maxWakeTime {
		c.late++
	}
}

type evidence struct {
	detectionDelay time.Duration // from last seen running to seen stopped
	held           time.Duration // from seen stopped to detached
	copying        time.Duration // part of held in which memory was read
	bytes          int64         // read
	// These are the growth since countersAtBegin; offCPU is without intended sleeps.
	offCPU                              time.Duration
	waited, preempted, faults, fromDisk int64
}

const (
	faultTime   = time.Microsecond    // per page fault, assumed
	maxByteTime = 4 * time.Nanosecond // most per byte of a copy; usual: 0.5 ns
	causeShare  = 2                   // a cause takes at least 1/causeShare of the stop
	lateAfter   = time.Millisecond    // from the interrupt to the stop
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
	case time.Duration(e.bytes)*maxByteTime >= e.copying:
		return CauseCopy
	}
	return CauseOther
}

func (e *evidence) faulted() bool {
	return time.Duration(e.faults)*faultTime >= e.copying/causeShare ||
		e.faults > 0 && e.faults*pageSize >= e.bytes/causeShare
}

var pageSize = int64(os.Getpagesize())

func (t *Times) late() bool { return t.StoppedAt.Sub(t.InterruptedAt) > lateAfter }

// countersAtBegin returns the counters from which the stop's own are counted. What the tracer did while a late stop was
// pending is no part of the stop; it is included only if most of the stop precedes its detection.
func (attachment *Attachment) countersAtBegin() *threadCounters {
	t := &attachment.times
	if t.late() && t.DetachedAt.Sub(t.StoppedAt) > t.StoppedAt.Sub(t.LastRunningAt) {
		return &attachment.atStop
	}
	return &attachment.atInterrupt
}

// CauseOf returns the cause of the stop in out, which read copied bytes. Precondition: called directly after its
// Finish.
func (c *Controller) CauseOf(out *Stop, copied int64) Cause {
	now, began := c.Sleeper.counters.now(), &c.stopper.lastCounters
	procmem.CountWait() // as in begin: long stops have more
	procmem.CountWait()
	e := evidence{
		detectionDelay: out.Times.StoppedAt.Sub(out.Times.LastRunningAt), held: out.Times.DetachedAt.Sub(out.Times.StoppedAt),
		copying: out.Times.MemoryReadAt.Sub(out.Times.RegsReadAt), bytes: copied,
		offCPU:    now.wall.Sub(began.wall) - (now.cpu - began.cpu) - (now.intended.slept - began.intended.slept),
		waited:    now.waited - began.waited - (now.intended.sleeps - began.intended.sleeps),
		preempted: now.preempted - began.preempted + now.intended.late - began.intended.late,
		faults:    now.faults - began.faults, fromDisk: now.fromDisk - began.fromDisk,
	}
	return e.cause()
}
