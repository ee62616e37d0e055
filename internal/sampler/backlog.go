package sampler

import (
	"prywalk/internal/procmem"
	"prywalk/ptrace"
)

// # Copies that wait
//
// Each look at a thread that has run copies its stack, 64 KB at least, and the copy waits
// until the accountant has unwound it. In the first tick, and wherever thousands of threads
// run in one, the copies of all would be hundreds of megabytes. So a tick hands over what it
// has after passEarly looks, and where it has made more than someBacklog and as much waits
// all the same, the controller lets the accountant catch up before it looks at the next thread.
// Whoever was asked to stop is served meanwhile. What waits from earlier ticks holds none up: on a
// machine where the accountant gets no processor, pauses would only make ticks fewer.

const (
	// someBacklog is how many bytes of copies may wait before a tick pauses.
	someBacklog = 16 << 20
	// maxBacklog is with how many nobody else is looked at in a tick: pauses were not
	// enough. With as many in copies and looks under way no tick is begun.
	maxBacklog = 64 << 20
	// passEarly is after how many events a tick hands them over before its end.
	passEarly = 64
	// catchUpFor bounds the pauses of one tick, in nanoseconds: an accountant that has
	// broken down does not catch up.
	catchUpFor = 1e9
	// catchUpNap is how long the controller sleeps at a time in a pause, in nanoseconds.
	catchUpNap = 200e3
)

// roomForCopy hands over what a tick has so far, and waits while too much of it is not
// yet unwound; false if even that has not helped.
func (c *controller) roomForCopy() bool {
	if len(c.out) >= passEarly {
		c.flushOut()
	}
	waiting := c.pool.Waiting()
	c.counts.backlog = max(c.counts.backlog, waiting)
	if waiting > someBacklog && c.copies > someBacklog {
		for c.paused < catchUpFor && c.pool.Waiting() > someBacklog/2 {
			c.flushOut()
			c.nap()
		}
	}
	return c.ending || c.pool.Waiting() <= maxBacklog
}

// nap serves the threads that stop for the length of a nap, or sleeps.
func (c *controller) nap() {
	began := procmem.Now()
	c.paused += c.breathe(began+catchUpNap) - began
}

// breathe serves the threads that stop until a moment, or sleeps, and gives the time then.
func (c *controller) breathe(until int64) (now int64) {
	c.collect(until)
	if procmem.Now() < until {
		ptrace.Pin()
		procmem.SleepUntil(until)
		ptrace.Unpin()
	}
	now = procmem.Now()
	c.looker.Woken(now) // it may have taken another thread's processor
	return now
}
