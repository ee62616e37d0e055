// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"context"
	"os"
	"slices"

	"prywalk/internal/idle"
	"prywalk/internal/procmem"
	"prywalk/ptrace"
)

// # One tick
//
// This file has a tick's way from top to bottom. When is it due, does the budget allow it, whom does it look at? What
// becomes of each look is in onelook.go, and how that is handed to the accountant in outbox.go.

// allTicks runs one tick after the other. The first is at once, and done in any case. So a recording that ends before
// prywalk gets a processor has one look at each thread all the same. leave: this process is about to be stopped.
func (c *Tracer) allTicks(ctx context.Context, ctl *ptrace.Controller) (leave bool) {
	for ; !c.began || ctx.Err() == nil; c.began = true {
		if ptrace.Leaving() {
			return true
		}
		if c.control.held.Load() {
			c.hold(ctx, ctl)
			continue
		}
		c.looker.Woken(procmem.Now())
		c.noticeSuspension(procmem.Now())
		c.admitAll()
		now := procmem.Now()
		c.ticks.SetRate(now, c.quota.rate(c.budget.Rate(now)))
		next := c.ticks.Next(now)
		c.tickWithinBudget(now, next)
		c.serveStopped()
		c.askWhatIsDue(now)
		c.serveStopped()
		c.publish()
		c.Garbage.Collect(now, c.looker.Waiting())
		if c.allGone() && len(c.control.arrive) == 0 {
			return false
		}
		if c.cpuChooser.Moves() {
			c.looker.Awake()
		}
		next = c.restIfSteady(now, next)
		c.attend(next)
		sleepUntil(ctx, ctl, next)
	}
	return false
}

// tickWithinBudget is tick within the budget, if there is one: a tick that comes
// while targets have lost too much is withheld.
func (c *Tracer) tickWithinBudget(now, deadline int64) {
	if c.quota.moves(c.looker.Waiting()) {
		c.looker.Woken(procmem.Now())
	}
	if !c.ending && !c.quota.enough() {
		c.withhold(now, deadline)
		return
	}
	if !c.budget.Limited() {
		c.tick(now, deadline)
		return
	}
	if c.budget.RanTo(c.ranSoFar(now)); c.budget.Overdrawn() > 0 {
		c.budget.Withheld++
		c.withhold(now, deadline)
		return
	}
	c.tick(now, deadline)
	if self, err := procmem.ProcessCPU(os.Getpid()); err == nil {
		c.budget.Ticked(int64(self))
	}
}

// withhold is a tick at which nobody is looked at, on purpose.
func (c *Tracer) withhold(now, deadline int64) {
	c.someoneLooks(now)
	c.gaps.Tick(now, c.ticks.Period())
	c.hearKin(now)
	for _, p := range c.procs {
		c.list(p, now) // one that has ended must be noticed
	}
	c.dropGone()
	c.drainInTime()
	c.collect(deadline)
	c.out.handOver(c.now.at)
}

// tick looks once at every thread that is not left alone, and collects what stops
// before the deadline.
func (c *Tracer) tick(now, deadline int64) {
	c.now.at = now
	if !c.ending && c.mustWait(now) {
		c.ticks.Missed++ // who was asked to stop must not wait for the accountant
		c.drainInTime()
		c.collect(deadline)
		c.out.handOver(now)
		return
	}
	c.beginTick(now, deadline)
	if !c.drawing() {
		c.lookAtPreempted() // at once: see there
	}
	c.choose()
	c.meetAllNewborn(now)
	for _, p := range c.procs {
		c.list(p, now)
		c.now.threads += len(p.list.byTID)
	}
	c.idle.WakeDue(c.now.threads)
	all := c.draw()
	for _, p := range c.procs {
		if all {
			c.lookAt(p.idle.Awake)
			c.lookAtAllIfSomeoneRan(p)
		} else {
			c.lookAtDrawn(p.idle.Awake)
		}
		c.idle.LeaveAlone(p.idle)
	}
	c.dropGone()
	c.claimStrays(nil)
	c.counts.threadsMax = max(c.counts.threadsMax, int64(c.now.threads))
	ptrace.Pin() // also while it hands over: who has not stopped yet may do so meanwhile
	defer ptrace.Unpin()
	c.collect(c.choosesAt(now, deadline))
	cpu, inTheWay := c.looker.InTheWay()
	c.cpuChooser.Ticked(now, inTheWay, cpu)
	c.serveStopped() // a move takes as long as a stop
	if c.out.due(now) {
		c.out.handOver(now)
	}
}

// choosesAt gives until when a tick waits for its looks. Where the tracer follows threads, what is left to do is done
// at once. It may move, and must sleep where it is when the next tick comes: a move then preempts somebody from afar.
// Who stops later is collected after it ([Tracer.attend]).
func (c *Tracer) choosesAt(now, deadline int64) int64 {
	if c.cpuChooser.Moves() && !c.ending {
		return now
	}
	return deadline
}

// tickState is what belongs to the present tick alone.
type tickState struct {
	at      int64 // its moment, CLOCK_MONOTONIC ns
	apart   int64 // for how long a look of it stands: the time since the tick before, or more in a subset, ns
	threads int   // how many there are
	first   int   // with which of a process's threads it begins: with another one each time
	spins   int   // how often it may still wait for a stop
	copies  int64 // bytes of the copies that it has made
	stays   int64 // since when the tracer has its processor, CLOCK_MONOTONIC ns
	paused  int64 // for how long it has let the accountant catch up, ns
	rested  bool  // ticks were left out before it ([Tracer.restIfSteady])
}

// mostWeight is for how many periods a look stands at most: after a pause, what was not observed is not the next
// look's.
const mostWeight = 4

// beginTick begins with a tick at which threads are looked at.
func (c *Tracer) beginTick(now, deadline int64) {
	c.someoneLooks(now)
	c.gaps.Tick(now, c.ticks.Period())
	rested := c.rest.Over(now-c.lastTick, c.ticks.Period())
	c.counts.ticks += 1 + rested
	apart := min(now-c.lastTick, mostWeight*(1+rested)*c.ticks.Period())
	c.lastTick = now
	c.own.measure(c.counts.ticks, now)
	c.now = tickState{
		at: now, apart: apart, first: c.now.first + 1, spins: spinsIn(deadline - now), stays: now, rested: rested > 0,
	}
	c.idle.BeginTick(c.counts.ticks, now, c.ticks.Period())
}

// dropGone drops the processes that have ended: their targets are the accountant's.
func (c *Tracer) dropGone() {
	c.procs = slices.DeleteFunc(c.procs, func(p *process) bool { return p.gone })
}

// lookAtAllIfSomeoneRan looks at the threads of a process that are backed off if one of them must have run. Who has run
// before is looked at first. Mostly it was one of these, and a crowd that only waits is left alone.
func (c *Tracer) lookAtAllIfSomeoneRan(p *process) {
	if !c.idle.SomeoneRan(p.idle) {
		return
	}
	n := c.wakeAndLook(p, false)
	if c.idle.Unexplained(p.idle) {
		n += c.wakeAndLook(p, true)
		c.idle.AllLookedAt(p.idle)
	}
	c.idle.LookedAt(p.idle, n)
}

// wakeAndLook looks at those that are backed off and have run before, or at all of them, and gives their number.
func (c *Tracer) wakeAndLook(p *process, all bool) int {
	already := len(p.idle.Awake)
	for _, th := range p.list.inOrder {
		if all || th.idle.HasRun() {
			c.idle.Wake(&th.idle)
		}
	}
	woken := p.idle.Awake[already:]
	c.lookAt(woken)
	return len(woken)
}

// lookAtPreempted looks at the thread that the tracer's wake-up preempted before anything else is done, if such a one
// is sought ([skid.Tracer.Find]).
func (c *Tracer) lookAtPreempted() {
	if !c.cpuChooser.Following() || !c.looker.SeeksPreempted() {
		return
	}
	for _, p := range c.procs {
		for _, t := range p.idle.Awake {
			if th := t.Owner.(*thread); !th.dead && !c.looker.Consider(th.look) {
				return
			}
		}
	}
	if t := c.looker.FindPreempted(); t != nil {
		th := t.Owner.(*thread)
		th.metAt = c.counts.ticks
		c.begin(th)
	}
}

// lookAt begins a look at each of some threads, beginning each tick with another one.
func (c *Tracer) lookAt(list []*idle.Thread) {
	for i := range list {
		if ptrace.Leaving() && !c.ending {
			return
		}
		if th := list[(i+c.now.first)%len(list)].Owner.(*thread); !th.dead && (th.metAt == 0 || th.metAt != c.counts.ticks) {
			c.makeWay()
			c.begin(th)
		}
	}
}

// drawing reports whether this tick may look at fewer threads than are due.
func (c *Tracer) drawing() bool { return !c.ending && c.subset.Bounded(c.budget.Part()) }

// draw begins to draw who is looked at; true if all are.
func (c *Tracer) draw() (all bool) {
	if !c.drawing() {
		return true
	}
	due := 0
	for _, p := range c.procs {
		due += len(p.idle.Awake)
	}
	weight := c.subset.Begin(due, c.budget.Part())
	c.now.apart = int64(float64(c.now.apart) * weight)
	return weight == 1
}

// lookAtDrawn begins a look at each of those threads that are drawn, the youngest first: what they do is soon over.
// Nobody can tell whether one of those that are left alone has run, while others that run are not looked at.
func (c *Tracer) lookAtDrawn(list []*idle.Thread) {
	for _, t := range slices.Backward(list) {
		if ptrace.Leaving() {
			return
		}
		if th := t.Owner.(*thread); c.subset.Draw() && !th.dead {
			c.makeWay()
			c.begin(th)
		}
	}
}

// ranSoFar gives the processor time that the kernel has charged to the targets, in
// nanoseconds. Reading the clock of a process with many threads is left out now and
// then.
func (c *Tracer) ranSoFar(now int64) int64 {
	ran := c.ranGone
	for _, p := range c.procs {
		if p.clockDue(now) {
			p.readClockAt(now, p.alive())
		}
		ran += p.clock.ran()
	}
	return ran
}
