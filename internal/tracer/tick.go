// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"context"
	"os"

	"prywalk/internal/engine"
	"prywalk/internal/procmem"
	"prywalk/ptrace"
)

// allTicks makes ticks, at least one, until ctx or the last process ends. leave: this process is about to be stopped.
func (t *Tracer) allTicks(ctx context.Context, ctl *ptrace.Controller) (leave bool) {
	for ; !t.run.began || ctx.Err() == nil; t.run.began = true {
		if ptrace.Suspending() {
			return true
		}
		if t.control.holdAsked.Load() {
			t.hold(ctx, ctl)
			continue
		}
		now, next := t.nextTick()
		t.tickWithinBudget(now, next)
		t.afterTick(now)
		if !t.opts.Endless && t.allEnded() && len(t.control.arriving) == 0 {
			return false
		}
		next = t.skipTicks(now, next)
		t.stops.finishUntil(next)
		sleepUntil(ctx, ctl, next)
	}
	return false
}

func (t *Tracer) nextTick() (now, next int64) {
	t.Observer.Woken(procmem.Now())
	t.reports.suspension(procmem.Now())
	t.trackArrived()
	now = procmem.Now()
	t.budget.ChargeSamples(t.EngineSamples)
	rate := t.quota.Rate(t.budget.UpdateRate(now))
	t.ticks.SetRate(now, rate)
	t.engine.SetRate(now, t.budget.SampleRate(rate))
	return now, t.ticks.Next(now)
}

func (t *Tracer) tickWithinBudget(now, deadline int64) {
	if t.quota.MoveIfDue(t.Observer.Waiting()) {
		t.Observer.Woken(procmem.Now())
	}
	if !t.Ending && !t.quota.AdmitTick() {
		t.withhold(now, deadline)
		return
	}
	if !t.budget.Limited() {
		t.tick(now, deadline)
		return
	}
	t.budget.SetTargetCPU(t.tracked.cpuTime(now), now)
	if t.budget.Overdrawn() > 0 {
		t.budget.Withheld++
		t.withhold(now, deadline)
		return
	}
	before := t.counts.attempted
	t.tick(now, deadline)
	if self, err := procmem.ProcessCPU(os.Getpid()); err == nil {
		t.budget.NoteTick(int64(self), t.counts.attempted-before)
	}
}

func (t *Tracer) tick(now, deadline int64) {
	t.Tick.At = now
	if !t.Ending && t.stops.saturated(now) {
		t.ticks.Missed++
		t.serveOnly(deadline)
		return
	}
	t.beginTick(now, deadline)
	if !t.drawsSubset() {
		t.selector.observePreempted() // before anything else
	}
	t.engine.BeginTick(now, false)
	t.observeNew(now)
	t.listAll(now)
	t.Backoff.WakeDue(t.tickState.threads)
	t.selector.observeAll()
	t.tracked.dropEnded()
	t.engine.EndTick()
	t.endTick(now, deadline)
}

// maxPeriods bounds the number of periods for which an observation stands.
const maxPeriods = 4

func (t *Tracer) beginTick(now, deadline int64) {
	t.reports.noteObservation(now)
	t.gaps.BeginTick(now, t.ticks.Period())
	skippedTicks := t.Skipper.End(now-t.run.lastTick, t.ticks.Period())
	t.counts.ticks += 1 + skippedTicks
	sinceLastTick := min(now-t.run.lastTick, maxPeriods*(1+skippedTicks)*t.ticks.Period())
	t.run.lastTick = now
	t.observations.own.measure(t.counts.ticks, now)
	t.Tick = engine.Tick{At: now, Skipped: skippedTicks > 0}
	t.tickState = tickState{
		observationInterval: sinceLastTick, rotation: t.tickState.rotation + 1, spinsLeft: spinsIn(deadline - now),
		awakeSince: now,
	}
	t.Backoff.BeginTick(t.counts.ticks, now, t.ticks.Period())
}

// observeNew observes new threads and children. Threads to be stopped come first, as they may be short-lived; clocks of
// sampled ones must be read after their samples were taken.
func (t *Tracer) observeNew(now int64) {
	drawing := t.drawsSubset()
	for _, p := range t.procs {
		switch {
		case drawing && p.list.everListed:
			t.newThreads.find(p, now)
		case !drawing && !p.engineObserves():
			t.newThreads.observe(p, now)
		}
	}
	t.newChildren.observe(now)
	t.engine.DrainAll(now)
	for _, p := range t.procs {
		if !drawing && p.engineObserves() {
			t.newThreads.observe(p, now)
		}
	}
}

func (t *Tracer) listAll(now int64) {
	for _, p := range t.procs {
		t.tracked.refreshThreads(p, now)
		t.tickState.threads += len(p.list.byTID)
	}
	t.tracked.threadCount = t.tickState.threads
	t.counts.threadsMax = max(t.counts.threadsMax, int64(t.tickState.threads))
}

// endTick waits for pending stops, unless the tracer sleeps on the CPU of a target's thread: its timer preempts that
// thread only if the tracer sleeps.
func (t *Tracer) endTick(now, deadline int64) {
	ptrace.Pin() // a thread may stop late meanwhile
	defer ptrace.Unpin()
	if t.cpus.MayMove() && !t.Ending {
		deadline = now
	}
	t.stops.collect(deadline)
	cpu, inTheWay := t.Observer.PreemptedOn()
	t.cpus.EndTick(now, inTheWay, cpu)
	t.stops.serveStopped()
	if t.Out.Due(now) {
		t.handOver(now)
	}
}

func (t *Tracer) withhold(now, deadline int64) {
	t.Tick.At = now
	t.reports.noteObservation(now)
	t.gaps.BeginTick(now, t.ticks.Period())
	t.engine.BeginTick(now, true)
	t.engine.DrainIfDue()
	for _, p := range t.procs {
		t.tracked.refreshThreads(p, now)
	}
	t.tracked.dropEnded()
	t.serveOnly(deadline)
}

func (t *Tracer) serveOnly(deadline int64) {
	t.stops.drain()
	t.stops.collect(deadline)
	t.handOver(t.Tick.At)
}

func (t *Tracer) afterTick(now int64) {
	t.stops.serveStopped()
	t.ended.report(now)
	t.reports.requestIfDue(now, t.control.checkpointAsked.Swap(false))
	t.stops.serveStopped()
	t.publish()
	t.Garbage.Collect(now, t.Observer.Waiting())
	if t.cpus.MayMove() {
		t.Observer.ForgetWake()
	}
}
