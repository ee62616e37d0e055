// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"context"

	"prywalk/internal/handover"
	"prywalk/internal/procmem"
	"prywalk/ptrace"
)

// # Copies that wait
//
// Each look at a thread that has run copies its stack, 64 KB at least, and the copy waits
// until the accountant has unwound it. In the first tick, and wherever thousands of threads
// run in one, the copies of all would be hundreds of megabytes. So a tick hands over what it
// has after handOverEarly looks. Where it has made more than SomeBacklog and as much waits
// all the same, the tracer lets the accountant catch up before it looks at the next thread.
// Whoever was asked to stop is served meanwhile. What waits from earlier ticks holds none up: on a
// machine where the accountant gets no processor, pauses would only make ticks fewer.

const (
	// SomeBacklog is how many bytes of copies may wait before a tick pauses.
	SomeBacklog = 16 << 20
	// MaxBacklog is with how many nobody else is looked at in a tick: pauses were not
	// enough. With as many in copies and looks under way no tick is begun.
	MaxBacklog = 64 << 20
	// handOverEarly is after how many events a tick hands them over before its end.
	handOverEarly = 64
	// CatchUpFor bounds the pauses of one tick, in nanoseconds: an accountant that has
	// broken down does not catch up.
	CatchUpFor = 1e9
	// catchUpStep is how long the tracer sleeps at a time in a pause, in nanoseconds.
	catchUpStep = 200e3
)

// mustWait reports whether nobody is to be looked at in this tick: the accountant is far behind, or garbage is to be
// collected.
func (c *Tracer) mustWait(now int64) bool {
	return !c.out.ring.Room() || c.Pool.Out() > MaxBacklog || c.Garbage.Draining(now)
}

// roomForCopy hands over what a tick has so far, and waits while too much of it is not
// yet unwound; false if even that has not helped.
func (c *Tracer) roomForCopy() bool {
	if len(c.out.events) >= handOverEarly {
		c.out.handOver(c.now.at)
	}
	waiting := c.Pool.Waiting()
	c.counts.backlog = max(c.counts.backlog, waiting)
	if waiting > SomeBacklog && c.now.copies > SomeBacklog {
		for c.now.paused < CatchUpFor && c.Pool.Waiting() > SomeBacklog/2 {
			c.out.handOver(c.now.at)
			began := procmem.Now()
			c.now.paused += c.breathe(began+catchUpStep) - began
		}
	}
	return c.ending || c.Pool.Waiting() <= MaxBacklog
}

// A tick that has many threads to look at keeps its processor from whoever ran there for as long. So after stayFor ns
// it sleeps for as long, while less than half of the time until the next tick is over. Ticks that are closer than
// closeTicks ns are short, and take their time from the next one's.
const (
	stayFor    = 150e3
	closeTicks = 4e6
	// longestStay is how long it goes on without a sleep in any case, in nanoseconds: half of what the watchdog of its
	// priority allows (package ptrace).
	longestStay = 10e6
)

// makeWay lets others have the tracer's processor for a moment if it has had it for long.
func (c *Tracer) makeWay() {
	now, period := procmem.Now(), c.ticks.Period()
	early := period >= closeTicks && now-c.now.at < period/2 && !c.ending
	if stays := now - c.now.stays; stays >= stayFor && early || stays >= longestStay {
		c.now.stays = c.breathe(now + stayFor)
	}
}

// breathe serves the threads that stop until a moment, or sleeps, and gives the time then.
func (c *Tracer) breathe(until int64) (now int64) {
	c.collect(until)
	if procmem.Now() < until {
		ptrace.Pin()
		c.looker.Nap(until)
		ptrace.Unpin()
	}
	c.drainInTime()
	now = procmem.Now()
	c.looker.Woken(now) // it may have taken another thread's processor
	return now
}

// collect finishes the looks whose threads stop before the deadline. Within a quota, what waits for a walk waits until
// nobody has been asked to stop any more.
func (c *Tracer) collect(deadline int64) {
	if c.quota != nil && c.looker.Waiting() > 0 {
		c.Turn.Take()
	}
	ptrace.Pin()
	c.looker.Collect(deadline, c.done)
	ptrace.Unpin()
	if c.quota != nil && c.looker.Waiting() == 0 {
		c.Turn.Give()
	}
}

// # Threads that stop late
//
// A look that is given up cannot be taken back. Its thread is in a call that no signal ends, and stops when that is
// over, maybe hours later, and then for as long as nobody lets it go. Only this OS thread can. So whatever the tracer
// waits for, it lets go of those meanwhile. It waits for a tick's end ([Tracer.attend]), for whatever ends a channel,
// as a collection ([Tracer.await]), and for room in the ring ([Tracer.send]). Ticks do so by themselves, and so do
// those that are withheld, and pauses for the accountant and for others ([Tracer.breathe]). At the end of a recording
// the OS thread ends, and with it the kernel lets go of all.

// attendStep is how long the tracer sleeps at a time where it cannot wait for threads, in nanoseconds.
const attendStep = 200e3

// attend serves until a moment, if there is anybody to serve.
func (c *Tracer) attend(until int64) {
	if c.looker.Pending() > 0 {
		c.collect(until)
	}
}

// await waits for the end of a channel.
func (c *Tracer) await(done <-chan struct{}) {
	for c.serveOnce() {
		select {
		case <-done:
			return
		default:
		}
	}
	c.awaitAndDrain(done)
}

// send hands a batch over, and waits for room.
func (c *Tracer) send(b handover.Batch) {
	for !c.out.ring.Room() && c.serveOnce() {
	}
	c.out.ring.Send(b)
}

// serveOnce lets go of those that have stopped, and sleeps; false if there is nobody to serve. The Go runtime may
// stop this goroutine in between, to collect garbage, but not for long.
func (c *Tracer) serveOnce() bool {
	if c.looker == nil || c.looker.Pending() == 0 {
		return false
	}
	c.collect(procmem.Now())
	procmem.SleepUntil(procmem.Now() + attendStep)
	return true
}

// sleepStep is how long the tracer may sleep before it looks whether it is to
// end, in nanoseconds.
const sleepStep = 20e6

// sleepUntil waits for a moment of CLOCK_MONOTONIC, for the end of ctx, or until this process is about to be stopped.
func sleepUntil(ctx context.Context, ctl *ptrace.Controller, at int64) {
	for {
		left := at - procmem.Now()
		if left <= 0 || ctx.Err() != nil || ptrace.Leaving() {
			return
		}
		ptrace.Pin()
		ctl.SleepUntil(at - max(0, left-sleepStep)) // cut short: the loop goes on
		ptrace.Unpin()
	}
}
