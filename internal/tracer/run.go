// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"context"
	"time"

	"golang.org/x/sys/unix"

	"prywalk/internal/look"
	"prywalk/internal/ownruntime"
	"prywalk/internal/procmem"
	"prywalk/internal/quota"
	"prywalk/internal/skid"
	"prywalk/ptrace"
)

// # The tracer's run, from its first tick to its last

// Run makes the ticks until ctx ends or the last process has ended, on one OS thread after the other. Each ends when
// this process is stopped, so that nobody stays attached to it. A tracer that breaks down calls stop.
func (c *Tracer) Run(ctx context.Context, stop func()) {
	c.stop = stop
	defer c.Ring.Close()
	defer c.births.close()
	for again := true; again; {
		again = false
		look.OnThread(func() {
			defer c.Failure.Guard(stop)
			c.control.thread.Store(int64(unix.Gettid()))
			again = c.runHere(ctx)
		})
	}
}

// runHere runs the ticks; again is true if it had to leave before the end. Precondition: the goroutine is locked
// to its OS thread.
func (c *Tracer) runHere(ctx context.Context) (again bool) {
	limits := quota.Root("/").Limits()
	ctl := ptrace.NewController(ptrace.Options{ReadOnly: c.opts.ReadOnly, NoCollector: true, Frugal: len(limits) > 0})
	defer ctl.Close() // also after a panic: nobody stays stopped
	c.looker = look.New(ctl, c.Pool, c.opts.Rung)
	defer c.looker.Close()
	if ctl.Scheduling() == "fifo" {
		c.walks.walker = procmem.NewWalker()
		defer c.endWalks()
	}
	c.quota = newUnderQuota(limits, ctl.Scheduling())
	defer c.Turn.Give()
	defer c.quota.close()
	if c.quota.careful() {
		c.looker.OnlyOnProcessors()
	}
	c.cpuChooser = skid.NewCPUChooser(ctl.Moved) // within the processors that are left
	c.looker.LimitPause(c.opts.MaxPause)
	c.looker.LetGoInTime()
	if c.opts.KernelStacks {
		c.looker.SeeKernelStacks()
	}
	c.scheduling = ctl.Scheduling()
	c.beginOnce()
	defer func() {
		if c.lastRead == 0 { // it broke down, or goes on later
			c.lastRead = procmem.Now()
		}
		c.ran = c.lastRead - c.control.Begun()
		c.broken += int64(ctl.Stats().Broken)
		c.told += int64(ctl.Stats().Told)
		c.lowered += int64(ctl.Stats().Lowered)
	}()
	if c.lastRead = 0; c.allTicks(ctx, ctl) {
		c.leave()
		return true
	}
	c.last(procmem.Now())
	ctl.Close()
	return false
}

// beginOnce begins the schedule, once.
func (c *Tracer) beginOnce() {
	start := procmem.Now()
	if c.control.begun.CompareAndSwap(0, start) {
		c.ticks.Restart(start, c.opts.Freq)
		c.budget.Begin(start)
		c.gaps.Begin(start, procmem.Suspended())
	}
}

// leave ends the looks under way, because this process is about to be stopped, and hands over what there is.
func (c *Tracer) leave() {
	ptrace.Pin()
	c.looker.Leave(c.done)
	ptrace.Unpin()
	c.Turn.Give()
	c.out.handOver(c.now.at)
}

// lastWait is how long the last looks may take, in nanoseconds.
const lastWait = 100e6

// last looks at every thread once more, so that all clocks are exact, gives up what
// does not stop, and retires everything.
func (c *Tracer) last(now int64) {
	c.seeSomebody(now)
	c.ending = true
	for _, p := range c.procs {
		for _, th := range p.list.inOrder {
			c.idle.Wake(&th.idle)
		}
		p.list.at = 0 // those that have just been born are looked at too
	}
	c.tick(now, now+lastWait)
	c.forgetUntracked(false)
	c.looker.Abort(c.done)
	c.endAllNewborn()
	c.Turn.Give()
	for _, p := range c.procs {
		c.closeCount(p, procmem.Now())
		for _, th := range p.list.inOrder {
			c.endThread(th)
		}
		c.endProcess(p)
	}
	c.procs = nil
	c.samples.end()
	c.kin.hold() // names are looked up for long
	c.lastRead = procmem.Now()
	if len(c.out.events) > 0 {
		c.send(c.out.events)
		c.out.events = nil
	}
}

// heldStep is how often a held tracer looks whether it is to go on, in nanoseconds.
const heldStep = 20e6

// hold finishes the looks that are pending, and does nothing until it is
// resumed, ctx ends, or this process is about to be stopped. The schedule then begins anew.
func (c *Tracer) hold(ctx context.Context, ctl *ptrace.Controller) {
	over := func() bool { return ctx.Err() != nil || ptrace.Leaving() }
	for end := procmem.Now() + ownruntime.DrainFor; c.looker.Pending() > 0 && procmem.Now() < end && !over(); {
		c.collect(procmem.Now() + heldStep)
	}
	c.out.handOver(c.now.at)
	c.publish()
	if r := c.samples.reader; r != nil && !c.samples.paused {
		r.Pause()
		defer r.Resume()
	}
	defer c.kin.hold()()
	c.control.still.Store(true)
	defer c.control.still.Store(false)
	for c.control.held.Load() && !over() {
		if c.looker.Pending() > 0 {
			c.attend(procmem.Now() + heldStep)
			sleepUntil(ctx, ctl, procmem.Now()+heldStep)
			continue
		}
		time.Sleep(heldStep) // so that the Go runtime has this processor, and can stop this goroutine
	}
	now := procmem.Now()
	c.heardNobody(now)
	c.rest.Over(0, c.ticks.Period())
	c.ticks.Restart(now, c.budget.Rate(now))
}
