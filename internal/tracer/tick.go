// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"context"

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
	next, sampleRate := t.pace.next(now)
	t.engine.SetRate(now, sampleRate)
	return now, next
}

func (t *Tracer) tickWithinBudget(now, deadline int64) {
	if !t.pace.withinQuota() || t.pace.limited() && !t.pace.withinBudget(now, t.tracked.cpuTime(now)) {
		t.withhold(now, deadline)
		return
	}
	before := t.counts.attempted
	t.tick(now, deadline)
	t.pace.noteTick(t.counts.attempted - before)
}

func (t *Tracer) tick(now, deadline int64) {
	t.Tick.At, t.Tick.Period = now, t.pace.period()
	if !t.Ending && t.backlog.full(now) {
		t.pace.noteMissed()
		t.serveOnly(deadline)
		return
	}
	interval := t.beginTick(now, deadline)
	if !t.pace.drawsSubset() {
		t.selector.observePreempted() // before anything else
	}
	t.engine.BeginTick(now, false)
	t.observeNew(now, interval)
	t.tracked.refreshAll(now)
	t.Backoff.WakeDue(t.tracked.threadCount)
	t.selector.observeAll()
	t.tracked.dropEnded()
	t.engine.EndTick()
	t.endTick(now, deadline)
}

// maxPeriods bounds the number of periods for which an observation stands.
const maxPeriods = 4

// beginTick returns the time for which an observation of the tick stands, ns.
func (t *Tracer) beginTick(now, deadline int64) (interval int64) {
	t.reports.noteObservation(now)
	t.gaps.BeginTick(now, t.pace.period())
	period := t.pace.period()
	skipped := t.Skipper.End(now-t.run.lastTick, period)
	t.Tick = engine.Tick{Number: t.Tick.Number + 1 + skipped, At: now, Period: period, Skipped: skipped > 0}
	interval = min(now-t.run.lastTick, maxPeriods*(1+skipped)*period)
	t.run.lastTick = now
	t.stops.beginTick(now, deadline)
	t.backlog.beginTick()
	t.observations.beginTick(interval)
	t.Backoff.BeginTick(t.Tick.Number, now, period)
	return interval
}

// observeNew observes new threads and children. Threads to be stopped come first, as they may be short-lived; clocks of
// sampled ones must be read after their samples were taken.
func (t *Tracer) observeNew(now, interval int64) {
	drawing := t.pace.drawsSubset()
	for _, p := range t.procs {
		switch {
		case drawing && p.list.everListed:
			t.newThreads.find(p, now)
		case !drawing && !p.engineObserves():
			t.newThreads.observe(p, now)
		}
	}
	t.newChildren.observe(now, interval)
	t.engine.DrainAll(now)
	for _, p := range t.procs {
		if !drawing && p.engineObserves() {
			t.newThreads.observe(p, now)
		}
	}
}

func (t *Tracer) endTick(now, deadline int64) {
	ptrace.Pin() // a thread may stop late meanwhile
	defer ptrace.Unpin()
	t.stops.endTick(now, deadline)
	if t.Out.Due(now) {
		t.backlog.handOver()
	}
}

func (t *Tracer) withhold(now, deadline int64) {
	t.Tick.At, t.Tick.Period = now, t.pace.period()
	t.reports.noteObservation(now)
	t.gaps.BeginTick(now, t.pace.period())
	t.engine.BeginTick(now, true)
	t.engine.DrainIfDue()
	for _, p := range t.procs {
		t.tracked.refreshThreads(p, now)
	}
	t.tracked.dropEnded()
	t.serveOnly(deadline)
}

func (t *Tracer) serveOnly(deadline int64) {
	t.engine.DrainIfDue()
	t.stops.finishUntil(deadline)
	t.backlog.handOver()
}

func (t *Tracer) afterTick(now int64) {
	t.stops.poll()
	t.ended.report(now)
	t.reports.requestIfDue(now, t.control.checkpointAsked.Swap(false))
	t.stops.poll()
	t.publish()
	t.Garbage.Collect(now, t.Observer.Waiting())
	t.stops.forgetWake()
}

const sleepStep = 20e6 // between checks of a sleeping tracer, ns

// sleepUntil waits for a time of CLOCK_MONOTONIC, the end of ctx, or an imminent stop of this process.
func sleepUntil(ctx context.Context, ctl *ptrace.Controller, at int64) {
	for {
		left := at - procmem.Now()
		if left <= 0 || ctx.Err() != nil || ptrace.Suspending() {
			return
		}
		ptrace.Pin()
		ctl.SleepUntil(at - max(0, left-sleepStep))
		ptrace.Unpin()
	}
}
