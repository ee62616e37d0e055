// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"prywalk/internal/handover"
	"prywalk/internal/look"
	"prywalk/internal/procmem"
	"prywalk/internal/refusal"
	"prywalk/internal/runstats"
	"prywalk/internal/sample"
	"prywalk/internal/schedule"
	"prywalk/ptrace"
)

// # One look

// begin begins a look at a thread, unless one is still pending, or the accountant is far behind.
func (c *Tracer) begin(th *thread) {
	c.drainInTime()
	c.judgeFollowed(th)
	if !c.ending && !c.quota.goesOn() || !c.roomForCopy() || th.look.Pending() {
		if !th.idle.LeftAlone() { // else its next look tells what it did at this tick, too
			c.counts.queued++
		}
		return
	}
	c.counts.attempted++
	c.someoneLooks(procmem.Now())
	if len(th.sampled.waiting) > 0 {
		th.look.SeenElsewhere()
	}
	ptrace.Pin() // from the interrupt on nothing may come in between
	defer ptrace.Unpin()
	outcome, shot, err := c.looker.Begin(th.look)
	switch {
	case err != nil:
		c.fail(th, err)
	case outcome == look.Reused:
		c.found(th, procmem.ReadingAt(th.look.LastSched(), c.now.at), th.look.Asleep())
		th.tick = c.counts.ticks
		c.counts.reused++
		c.counts.inferred += c.idle.Unchanged(&th.idle)
	case outcome == look.Runs:
		c.counts.attempted-- // its samples tell
		c.changed(th)
		c.runs(th)
	case outcome == look.Queued:
		c.counts.attempted--
		c.counts.queued++
		c.changed(th)
	case outcome == look.SleptAgain:
		c.changed(th)
		c.sleptAgain(th)
	case outcome == look.Done:
		c.changed(th)
		c.finish(th, shot)
	default:
		c.changed(th)
	}
	if err != nil || outcome != look.Runs {
		th.steady = schedule.Steady{}
	}
	c.serve(err == nil && outcome == look.Pending && !th.look.Queued())
}

// A thread that runs stops within spinFor ns of its interrupt, one that is queued
// when it is scheduled. At most maxSpins waits in vain are made in a tick, and an
// eighth of it is spent on them.
const (
	spinFor  = 40e3
	maxSpins = 8
)

func spinsIn(period int64) int { return int(min(max(period/8/spinFor, 1), maxSpins)) }

// serve finishes the looks whose threads have stopped, before the next thread is
// looked at: they must not stay stopped for that long. fresh: one was just asked to
// stop.
func (c *Tracer) serve(fresh bool) {
	until := int64(0)
	if fresh && c.now.spins > 0 {
		until = procmem.Now() + spinFor
	}
	if n := c.looker.Serve(until, c.done); n == 0 && until > 0 {
		c.now.spins--
	}
}

// serveStopped finishes the looks whose threads have stopped while the tracer did something that takes long, as meeting
// others. It does not wait.
func (c *Tracer) serveStopped() {
	if c.looker == nil || c.looker.Pending() == 0 {
		return
	}
	ptrace.Pin()
	c.serve(false)
	ptrace.Unpin()
}

// collected takes a look that was pending.
func (c *Tracer) collected(t *look.Thread, s *look.Shot, err error) {
	if ns := t.TakeLetGo(); ns > 0 {
		c.letGo(t, ns)
	}
	if k, ok := t.Owner.(*young); ok {
		c.newbornLooked(k, s, err)
		return
	}
	th := t.Owner.(*thread)
	if err != nil {
		c.fail(th, err)
		return
	}
	c.finish(th, s)
}

// letGo counts a stop that gave nothing.
func (c *Tracer) letGo(t *look.Thread, ns int64) {
	ns = c.quota.ownPart(ns)
	if ns > c.counts.freezes.max {
		c.counts.longest = runstats.Freeze{PID: t.PID, TID: t.TID}
	}
	c.counts.letGo(ns)
	c.budget.Froze(ns)
}

// finish counts a look and passes it on.
func (c *Tracer) finish(th *thread, s *look.Shot) {
	c.found(th, procmem.ReadingAt(s.Sched, s.At), s.State != sample.Running)
	if th.sampled.begun = true; th.look.Sampled() {
		s.OnCPU, s.Basis = false, sample.Exact
	}
	if s.How == look.ByFreeze {
		if !th.deep && s.State == sample.Running && th.look.Deep() {
			th.deep = true
			c.samples.deep++
		}
		s.Stopped = c.quota.ownPart(s.Stopped)
		if s.Stopped > c.counts.freezes.max {
			c.counts.longest = runstats.Freeze{PID: th.proc.target.PID, TID: th.look.TID, Copied: s.Copied()}
		}
		c.counts.froze(s)
		c.budget.Froze(s.Stopped)
		c.callEffects.add(s)
	} else {
		c.counts.peeked++
	}
	inTurn := s.How == look.ByPeek && th.look.InLock(&s.Call)
	c.follow(th, s.Sched, s.OnCPU || inTurn, s.State == sample.Running, s.How)
	c.noticeGap(s.At)
	th.tick, th.told = c.counts.ticks, s.At
	c.idle.Looked(&th.idle, s.State != sample.Running, th.born, s.Sched)
	c.now.copies += s.Waits()
	c.out.add(handover.Event{
		Kind: handover.Looked, Thread: th.shared, Shot: s, Before: th.idle.TakeUnchanged(), Length: c.standsFor(th, s),
		Soon: s.Surprising() || s.State == sample.Running && th.proc.shared.Moving(s.At),
	})
	c.followIfItRan(th, s)
}

// tellClocks is how long the clocks of a thread that sleeps where it slept may wait until they are told, in
// nanoseconds: the recording's resolution in time.
const tellClocks = 1e9

// sleptAgain counts a look at a thread that has run, and sleeps where its last look has seen it. Only its clocks are
// told, with its next look, after a second, or when somebody asks.
func (c *Tracer) sleptAgain(th *thread) {
	sched, at := th.look.LastSched(), th.look.LastSleepAt()
	now := procmem.ReadingAt(sched, at)
	c.found(th, now, true)
	c.counts.peeked++
	c.counts.sleptAgain++
	c.follow(th, sched, false, false, look.ByPeek)
	c.noticeGap(at)
	th.tick = c.counts.ticks
	c.idle.Looked(&th.idle, true, th.born, sched)
	th.idle.SleptAgain(now)
	if at-th.told >= tellClocks {
		c.tellClocks(th, at)
	}
}

// follow takes note of a look at a thread, if the tracer should be on its processor. met: it was met on one, or waits
// for its turn, in which another one runs.
func (c *Tracer) follow(th *thread, s procmem.SchedStat, met, running bool, how look.How) {
	if th.look.Sampled() {
		return
	}
	hides := th.hidden.Hides(int64(s.CPU), met, running, max(c.ticks.Period(), c.now.apart))
	if hides || how == look.ByFreeze && th.look.ManyCalls() {
		c.cpuChooser.Follow(c.looker.Processor(th.look))
	}
}

// fail counts a look that gave nothing.
func (c *Tracer) fail(th *thread, err error) {
	reason := look.Reason(err)
	c.counts.fail(reason)
	c.changed(th)
	if reason == refusal.Gone {
		c.endThread(th)
	}
}

// changed takes note of a thread that has run since its last look, or could not be looked at.
func (c *Tracer) changed(th *thread) { c.counts.unseen += c.idle.Changed(&th.idle) }
