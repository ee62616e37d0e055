package sampler

import (
	"context"
	"os"
	"slices"
	"time"

	"prywalk/internal/booking"
	"prywalk/internal/idle"
	"prywalk/internal/look"
	"prywalk/internal/procmem"
	"prywalk/internal/skid"
	"prywalk/ptrace"
)

// # One tick
//
// This file has a tick's way from top to bottom, on the tracer's goroutine. When is it due, does the budget allow it,
// whom does it look at? What becomes of each look, and how is that handed to the accountant?

// ticks runs one tick after the other. The first is at once, and done in any case. So a recording that ends before
// prywalk gets a processor has one look at each thread all the same. leave: this process is about to be stopped.
func (s *Sampler) ticks(ctx context.Context, c *tracer, ctl *ptrace.Controller) (leave bool) {
	for ; !c.began || ctx.Err() == nil; c.began = true {
		if ptrace.Leaving() {
			return true
		}
		if s.held.Load() {
			s.hold(ctx, c, ctl)
			continue
		}
		c.looker.Woken(procmem.Now())
		c.noticeSuspension(procmem.Now())
		s.admitAll(c)
		now := procmem.Now()
		c.ticks.SetRate(now, c.quota.rate(c.budget.Rate(now)))
		next := c.ticks.Next(now)
		c.tickWithinBudget(now, next)
		if s.asked.Swap(false) || c.checkpointDue(now, &s.pub) {
			s.pub.saving.Store(true)
			c.askCheckpoint(now)
		}
		if c.refreshDue(now, &s.pub) {
			s.pub.telling.Store(true)
			c.askRefresh(now)
		}
		s.pub.set(c)
		c.garbage.Collect(now, c.looker.Waiting())
		if c.allGone() && len(s.arrive) == 0 {
			return false
		}
		c.attend(next)
		sleepUntil(ctx, ctl, next)
	}
	return false
}

// tickWithinBudget is tick within the budget, if there is one: a tick that comes
// while targets have lost too much is withheld.
func (c *tracer) tickWithinBudget(now, deadline int64) {
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
func (c *tracer) withhold(now, deadline int64) {
	c.someoneLooks(now)
	c.gaps.Tick(now, c.ticks.Period())
	for _, p := range c.procs {
		c.list(p, now) // one that has ended must be noticed
	}
	c.dropGone()
	c.looker.Collect(deadline, c.done)
	c.out.handOver(c.now.at)
}

// tick looks once at every thread that is not left alone, and collects what stops
// before the deadline.
func (c *tracer) tick(now, deadline int64) {
	c.now.at = now
	if !c.ending && c.mustWait(now) {
		c.ticks.Missed++ // who was asked to stop must not wait for the accountant
		c.collect(deadline)
		c.out.handOver(now)
		return
	}
	c.beginTick(now, deadline)
	c.choose()
	c.meetAllNewborn(now)
	for _, p := range c.procs {
		c.takeCensus(p)
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
	c.collect(deadline)
	cpu, inTheWay := c.looker.InTheWay()
	c.cpuChooser.Ticked(now, inTheWay, cpu)
	if c.out.due(now) {
		c.out.handOver(now)
	}
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
}

// mostWeight is for how many periods a look stands at most: after a pause, what was not observed is not the next
// look's.
const mostWeight = 4

// beginTick begins with a tick at which threads are looked at.
func (c *tracer) beginTick(now, deadline int64) {
	c.someoneLooks(now)
	c.gaps.Tick(now, c.ticks.Period())
	c.counts.ticks++
	apart := min(now-c.lastTick, mostWeight*c.ticks.Period())
	c.lastTick = now
	c.now = tickState{at: now, apart: apart, first: c.now.first + 1, spins: spinsIn(deadline - now), stays: now}
	c.idle.BeginTick(c.counts.ticks, now, c.ticks.Period())
}

// takeCensus takes a census of a process, if censuses are taken. Who is parked was looked at by that.
func (c *tracer) takeCensus(p *process) {
	n, ok := c.idle.TakeCensus(p.target.PID, p.idle)
	if !ok {
		return
	}
	p.list.hint = p.list.hint || n != len(p.list.tids)
	c.counts.attempted += int64(p.idle.Parked())
	c.counts.reused += int64(p.idle.Parked())
}

// dropGone drops the processes that have ended: their targets are the accountant's.
func (c *tracer) dropGone() {
	c.procs = slices.DeleteFunc(c.procs, func(p *process) bool { return p.gone })
}

// lookAtAllIfSomeoneRan looks at all threads of a process that are backed off if one of them must have run.
func (c *tracer) lookAtAllIfSomeoneRan(p *process) {
	if !c.idle.SomeoneRan(p.idle) {
		return
	}
	already := len(p.idle.Awake)
	for _, th := range p.list.inOrder {
		c.idle.Wake(&th.idle)
	}
	c.lookAt(p.idle.Awake[already:])
	c.idle.AllLookedAt(p.idle)
}

// lookAt begins a look at each of some threads, beginning each tick with another one.
func (c *tracer) lookAt(list []*idle.Thread) {
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
func (c *tracer) drawing() bool { return !c.ending && c.subset.Bounded(c.budget.Part()) }

// draw begins to draw who is looked at; true if all are.
func (c *tracer) draw() (all bool) {
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
func (c *tracer) lookAtDrawn(list []*idle.Thread) {
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

// begin begins a look at a thread, unless one is still pending, or the accountant is far behind.
func (c *tracer) begin(th *thread) {
	if !c.ending && !c.quota.goesOn() || !c.roomForCopy() || th.look.Pending() {
		if !th.idle.LeftAlone() { // else its next look tells what it did at this tick, too
			c.counts.queued++
		}
		return
	}
	c.counts.attempted++
	c.someoneLooks(procmem.Now())
	ptrace.Pin() // from the interrupt on nothing may come in between
	defer ptrace.Unpin()
	outcome, shot, err := c.looker.Begin(th.look)
	switch {
	case err != nil:
		c.fail(th, err)
	case outcome == look.Reused:
		c.found(th, booking.ReadAt(th.look.LastSched(), c.now.at))
		th.tick = c.counts.ticks
		c.counts.reused++
		c.counts.inferred += c.idle.Unchanged(&th.idle)
	case outcome == look.Runs:
		c.counts.attempted-- // its samples tell
		c.changed(th)
		c.runs(th)
	case outcome == look.Done:
		c.changed(th)
		c.finish(th, shot)
	default:
		c.changed(th)
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
func (c *tracer) serve(fresh bool) {
	until := int64(0)
	if fresh && c.now.spins > 0 {
		until = procmem.Now() + spinFor
	}
	if n := c.looker.Serve(until, c.done); n == 0 && until > 0 {
		c.now.spins--
	}
}

// collected takes a look that was pending.
func (c *tracer) collected(t *look.Thread, s *look.Shot, err error) {
	th := t.Owner.(*thread)
	if err != nil {
		c.fail(th, err)
		return
	}
	c.finish(th, s)
}

// finish counts a look and passes it on.
func (c *tracer) finish(th *thread, s *look.Shot) {
	c.found(th, booking.ReadAt(s.Sched, s.At))
	if th.sampled.begun = true; th.look.Sampled() {
		s.OnCPU, s.Basis = false, skid.Exact
	}
	if s.How == look.ByFreeze {
		s.Stopped = c.quota.ownPart(s.Stopped)
		if s.Stopped > c.counts.freezes.max {
			c.counts.longest = Freeze{th.proc.target.PID, th.look.TID, s.Copied()}
		}
		c.counts.froze(s)
		c.budget.Froze(s.Stopped)
		c.callEffects.add(s)
	} else {
		c.counts.peeked++
	}
	c.follow(th, s)
	c.noticeGap(s.At)
	th.tick = c.counts.ticks
	c.idle.Looked(&th.idle, s.State != look.Running, th.born, s.Sched)
	c.now.copies += s.Waits()
	c.out.add(event{kind: looked, thread: th.account, shot: s, before: th.idle.TakeUnchanged(), length: c.now.apart})
}

// follow takes note of a look at a thread, if the tracer should be on its processor.
func (c *tracer) follow(th *thread, s *look.Shot) {
	if th.look.Sampled() {
		return
	}
	hides := th.hidden.Hides(int64(s.Sched.CPU), s.OnCPU, s.State == look.Running, max(c.ticks.Period(), c.now.apart))
	if hides || s.How == look.ByFreeze && th.look.ManyCalls() {
		c.cpuChooser.Follow(c.looker.Processor(th.look))
	}
}

// fail counts a look that gave nothing.
func (c *tracer) fail(th *thread, err error) {
	reason := look.Reason(err)
	c.counts.fail(reason)
	c.changed(th)
	if reason == look.ReasonExited {
		c.endThread(th)
	}
}

// changed takes note of a thread that has run since its last look, or could not be looked at.
func (c *tracer) changed(th *thread) { c.counts.unseen += c.idle.Changed(&th.idle) }

// ranSoFar gives the processor time that the kernel has charged to the targets, in
// nanoseconds. Reading the clock of a process with many threads is left out now and
// then.
func (c *tracer) ranSoFar(now int64) int64 {
	ran := c.ranGone
	for _, p := range c.procs {
		if p.clockDue(now) {
			p.readClockAt(now, p.alive())
		}
		ran += p.clock.ran()
	}
	return ran
}

// someoneLooks takes note that threads are looked at now.
func (c *tracer) someoneLooks(now int64) { c.tellGap(c.gaps.Looked(now)) }

// noticeGap tells the accountant of a gap, if one has ended now.
func (c *tracer) noticeGap(now int64) { c.tellGap(c.gaps.Ended(now)) }

func (c *tracer) tellGap(from, length int64) {
	if length > 0 {
		c.samples.since = from + length
		c.out.add(event{kind: notObserved, at: from, length: length})
	}
}

// noticeSuspension tells the accountant if the machine was suspended since the last tick. What was seen before is
// booked first: it has other Unix times.
func (c *tracer) noticeSuspension(now int64) {
	slept := c.gaps.WokeUp(now, time.Now().UnixNano(), procmem.Suspended)
	if slept == 0 {
		return
	}
	c.tellUnchanged()
	c.out.add(event{kind: resumed, at: now, length: slept})
}

// tellUnchanged tells the accountant of all threads that were found unchanged lately.
func (c *tracer) tellUnchanged() {
	for _, p := range c.procs {
		for _, th := range p.list.inOrder {
			c.idle.CountParked(&th.idle)
			if th.idle.Unchanged.Ticks > 0 && !th.dead {
				c.out.add(event{kind: unchanged, thread: th.account, before: th.idle.TakeUnchanged()})
			}
		}
	}
}

// checkpointPart bounds what checkpoints take. Each is written whole, so that those of a long recording take ever
// longer. A checkpoint comes no sooner than so many times as long after the one before as that took.
const checkpointPart = 20

// checkpointDue reports whether it is time for a checkpoint.
func (c *tracer) checkpointDue(now int64, p *published) bool {
	every := int64(c.opts.CheckpointEvery)
	if c.checkpoint == 0 {
		c.checkpoint = now
	}
	return every > 0 && !p.saving.Load() && now-c.checkpoint > max(every, checkpointPart*p.saveTook.Load())
}

// askCheckpoint asks for a checkpoint, with everything up to now.
func (c *tracer) askCheckpoint(now int64) {
	c.tellUnchanged()
	c.out.add(event{kind: checkpointAsked})
	c.out.handOver(c.now.at) // or after a later tick, if the accountant is far behind
	c.checkpoint = now
}
