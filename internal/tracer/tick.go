// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"context"

	"prywalk/internal/engine"
	"prywalk/internal/handover"
	"prywalk/internal/procmem"
	"prywalk/ptrace"
)

// makeTicks makes ticks, at least one unless it is held until ctx ends, until ctx or the last process ends, and sleeps
// between them. leave: this process is about to be stopped.
func (t *Tracer) makeTicks(ctx context.Context, ctl *ptrace.Controller) (leave bool) {
	for began := false; !began || ctx.Err() == nil; began = true {
		if ptrace.Suspending() {
			return true
		}
		if t.control.holdAsked.Load() {
			t.hold(ctx, ctl)
			continue
		}
		t.Observer.Woken(procmem.Now())
		t.reportSuspension(procmem.Now())
		t.trackArrived()
		now, next := t.scheduleTick()
		t.tickIfAdmitted(now, next)
		t.listings.reportEnded(now)
		t.requests.addDue(now, t.control.checkpointAsked.Swap(false))
		t.stops.poll()
		t.publish()
		t.Garbage.Collect(now, t.Observer.Waiting())
		t.stops.forgetWake()
		if t.hasFinished() {
			return false
		}
		next = t.skipTicks(now, next)
		t.stops.finishUntil(next)
		sleepUntil(ctx, ctl, next)
	}
	return false
}

// tick observes each thread that is due, once. Stops that are pending at the deadline (CLOCK_MONOTONIC, ns) finish
// later.
//
// New threads that are to be stopped come before sampled ones, as they may be short-lived; clocks of sampled ones must
// be read after their samples were taken.
func (t *Tracer) tick(now, deadline int64) {
	interval := t.beginTick(now, deadline)
	t.selector.observePreempted()
	t.engine.BeginTick(now, false)
	t.newThreads.observeStopped(now)
	t.newChildren.observe(now, interval)
	t.engine.DrainAll(now)
	t.newThreads.observeSampled(now)
	t.listings.refreshAll(now)
	t.Backoff.WakeDue(t.listings.threads())
	t.selector.observeDue()
	t.tracked.dropEnded()
	t.engine.EndTick()
	t.endTick(now, deadline)
}

// tickIfAdmitted makes a tick, unless the budget or a quota withholds it, or the aggregator is far behind.
func (t *Tracer) tickIfAdmitted(now, deadline int64) {
	if !t.pace.withinQuota() || t.pace.isLimited() && !t.pace.withinBudget(now, t.tracked.cpuTime(now)) {
		t.withheldTick(now, deadline)
		return
	}
	before := t.counts.begun()
	if t.backlog.isFull(now) {
		t.missedTick(now, deadline)
	} else {
		t.tick(now, deadline)
	}
	t.pace.noteTick(t.counts.begun() - before)
}

// withheldTick observes no thread. Samples of an engine are taken, and the ends of threads and processes are found.
func (t *Tracer) withheldTick(now, deadline int64) {
	t.Tick.At, t.Tick.Period = now, t.pace.period()
	t.gaps.beginTick(now, t.pace.period())
	t.engine.BeginTick(now, true)
	t.engine.DrainIfDue()
	for _, p := range t.tracked.processes() {
		t.listings.refresh(p, now)
	}
	t.tracked.dropEnded()
	t.finishPending(deadline)
}

// missedTick only finishes stops, and takes an engine's samples.
func (t *Tracer) missedTick(now, deadline int64) {
	t.Tick.At, t.Tick.Period = now, t.pace.period()
	t.pace.noteMissed()
	t.finishPending(deadline)
}

func (t *Tracer) finishPending(deadline int64) {
	t.engine.DrainIfDue()
	t.stops.finishUntil(deadline)
	t.backlog.handOver()
}

// # Steps

// reportSuspension reports a suspension of the machine, after earlier observations, as their Unix time differs.
func (t *Tracer) reportSuspension(now int64) {
	if slept := t.gaps.suspension(now); slept > 0 {
		t.tracked.reportAllUnchanged()
		t.Out.Add(handover.Event{Kind: handover.Resumed, At: now, Length: slept})
	}
}

// trackArrived tracks the processes that were admitted since the last tick.
func (t *Tracer) trackArrived() {
	for {
		select {
		case p := <-t.control.arriving:
			t.tracked.trackProcess(p)
			t.stops.poll()
		default:
			return
		}
	}
}

// scheduleTick returns the time of this tick and of the next, CLOCK_MONOTONIC ns.
func (t *Tracer) scheduleTick() (now, next int64) {
	now = procmem.Now()
	next, sampleRate := t.pace.next(now)
	t.engine.SetRate(now, sampleRate)
	return now, next
}

// maxPeriods bounds the number of periods for which an observation stands.
const maxPeriods = 4

// beginTick returns the time for which an observation of the tick stands, ns.
func (t *Tracer) beginTick(now, deadline int64) (interval int64) {
	period, passed := t.pace.period(), now-t.run.lastTick
	t.run.lastTick = now
	t.gaps.beginTick(now, period)
	skipped := t.Skipper.End(passed, period)
	t.Tick = engine.Tick{Number: t.Tick.Number + 1 + skipped, At: now, Period: period, Skipped: skipped > 0}
	interval = min(passed, maxPeriods*(1+skipped)*period)
	t.stops.beginTick(now, deadline)
	t.backlog.beginTick()
	t.observations.beginTick(interval)
	t.Backoff.BeginTick(t.Tick.Number, now, period)
	return interval
}

func (t *Tracer) endTick(now, deadline int64) {
	ptrace.Pin() // a thread may stop late meanwhile
	defer ptrace.Unpin()
	t.stops.endTick(now, deadline)
	if t.Out.Due(now) {
		t.backlog.handOver()
	}
}

// hasFinished reports whether the last process has ended, and none waits to be tracked.
func (t *Tracer) hasFinished() bool {
	return !t.opts.Endless && t.tracked.allEnded() && len(t.control.arriving) == 0
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
