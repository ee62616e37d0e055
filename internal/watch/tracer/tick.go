// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"context"
	"time"

	"prywalk/internal/host/procmem"
	"prywalk/internal/watch/target"
	"prywalk/ptrace"
)

// A function comes before those that it calls.

// makeTicks makes at least one tick, unless it is held. leave means that this process is about to be stopped.
func (t *Tracer) makeTicks(ctx context.Context, ctl *ptrace.Controller) (leave bool) {
	for began := false; !began || !hasEnded(ctx); began = true {
		if ptrace.Suspending() {
			return true
		}
		if t.control.holdAsked.Load() {
			t.hold(ctx)
			continue
		}
		t.shared.Observer.Preemption().Woken(ptrace.Now())
		t.reportSuspension(procmem.Now())
		t.trackArrived()
		now, next := t.scheduleTick()
		t.makeTick(now, next)
		t.afterTick(now)
		if t.hasFinished() {
			return false
		}
		t.stops.finishUntil(next)
		sleepUntil(ctx, ctl, next)
	}
	return false
}

func (t *Tracer) makeTick(now, deadline int64) {
	switch {
	case !t.admitsTick(now):
		t.withheldTick(now, deadline)
	case t.backlog.isFull(now):
		t.missedTick(now, deadline)
	default:
		t.tick(now, deadline)
	}
}

// tick observes each thread that is due, once. Stops that are pending at the deadline (CLOCK_MONOTONIC, ns) finish
// later. The reasons of the order:
//
//   - The engine chooses the processes that it samples before any other thread is observed.
//   - New threads may be short-lived. Those that the engine samples come after DrainAll: their clocks must
//     be read after their samples were taken.
//   - Whether to draw depends on how many threads are due: they are listed and woken before.
func (t *Tracer) tick(now, deadline int64) {
	attemptsBefore := t.counts.attempts()
	t.beginTick(now, deadline)
	t.engine.BeginTick(now, false)
	t.newThreads.observeWithoutEngine(now)
	t.engine.DrainAll(now)
	t.newThreads.observeWithEngine(now)
	t.listings.refreshAll(now)
	t.shared.Backoff.WakeDue(t.listings.threads())
	if all := t.beginDraw(); all {
		t.selector.observeDue()
	} else {
		t.selector.observeDrawn()
	}
	t.observations.observeLeft(deadline)
	t.tracked.dropEnded()
	t.engine.EndTick()
	t.endTick(now, deadline)
	t.pace.recordTick(t.counts.attempts() - attemptsBefore)
}

// withheldTick takes an engine's samples, finds ends, and lets a garbage collection begin.
func (t *Tracer) withheldTick(now, deadline int64) {
	_ = t.shared.Garbage.Draining(now) // no stop begins
	t.shared.Tick.At, t.shared.Tick.Period = now, t.pace.period()
	t.gaps.recordObservation(now)
	t.gaps.beginTick(now, t.pace.period())
	t.engine.BeginTick(now, true)
	t.engine.DrainIfDue()
	for _, p := range t.tracked.processes() {
		t.listings.refresh(p, now)
	}
	t.tracked.dropEnded()
	t.drainAndHandOver(deadline)
}

// missedTick takes an engine's samples.
func (t *Tracer) missedTick(now, deadline int64) {
	t.shared.Tick.At, t.shared.Tick.Period = now, t.pace.period()
	t.pace.countMissed()
	t.drainAndHandOver(deadline)
	t.pace.recordTick(0)
}

func (t *Tracer) drainAndHandOver(deadline int64) {
	t.engine.DrainIfDue()
	t.stops.finishUntil(deadline)
	t.backlog.handOver()
}

// # Steps before a tick

// reportSuspension reports earlier observations first: their Unix time differs.
func (t *Tracer) reportSuspension(now int64) {
	if slept := t.gaps.newSuspension(now, time.Now().UnixNano(), procmem.Suspended); slept > 0 {
		t.tracked.reportAllUnchanged()
		t.shared.Out.Add(target.Event{What: &target.Resumed{At: now, Length: slept}})
	}
}

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

// scheduleTick returns this tick's time and the next one's, CLOCK_MONOTONIC ns.
func (t *Tracer) scheduleTick() (now, next int64) {
	now = procmem.Now()
	next, sampleRate := t.pace.next(now)
	t.engine.SetRate(now, sampleRate)
	return now, next
}

// # Steps of a tick

func (t *Tracer) admitsTick(now int64) bool {
	return t.pace.withinQuota() && (!t.pace.isLimited() || t.pace.withinBudget(t.tracked.cpuTime(now)))
}

const maxPeriods = 4

func (t *Tracer) beginTick(now, deadline int64) {
	period, passed := t.pace.period(), now-t.run.lastTick
	t.run.lastTick = now
	t.gaps.recordObservation(now)
	t.gaps.beginTick(now, period)
	t.shared.Tick = target.Tick{
		Number: t.shared.Tick.Number + 1, At: now, Period: period, StandsFor: min(passed, maxPeriods*period),
	}
	t.stops.beginTick(now, deadline)
	t.backlog.beginTick()
	t.shared.Backoff.BeginTick(t.shared.Tick.Number, now, period)
}

// beginDraw reports whether all due threads are observed; else some are drawn, and each stands for more time.
func (t *Tracer) beginDraw() (all bool) {
	if t.shared.Ending {
		return true // for each thread's clocks and last sleep
	}
	duePerDrawn := t.pace.beginDraw(t.tracked.dueThreads())
	t.shared.Tick.StandsFor = int64(float64(t.shared.Tick.StandsFor) * duePerDrawn)
	return duePerDrawn == 1
}

func (t *Tracer) endTick(now, deadline int64) {
	ptrace.Pin() // see [stops]
	defer ptrace.Unpin()
	t.stops.endTick(now, deadline)
	if t.shared.Out.Due(now) {
		t.backlog.handOver()
	}
}

// # Steps after a tick

func (t *Tracer) afterTick(now int64) {
	t.listings.reportEnded(now)
	t.requests.addDue(now, t.control.checkpointAsked.Swap(false))
	t.stops.poll()
	t.publish()
	t.shared.Garbage.Collect(now, t.shared.Observer.Stops.PendingStops())
	t.stops.forgetWake()
}

func (t *Tracer) hasFinished() bool {
	return t.opts.Select == nil && t.tracked.allEnded() && len(t.control.arriving) == 0
}

// hasEnded reads the clock, too: on a busy host the Go runtime, without the tracer's priority, ends ctx seconds late.
func hasEnded(ctx context.Context) bool {
	at, limited := ctx.Deadline()
	return ctx.Err() != nil || limited && !time.Now().Before(at)
}

const sleepStep = 20e6 // between checks of a sleeping tracer, ns

func sleepUntil(ctx context.Context, ctl *ptrace.Controller, at int64) {
	for {
		left := at - procmem.Now()
		if left <= 0 || hasEnded(ctx) || ptrace.Suspending() {
			return
		}
		ctl.Sleeper.SleepUntil(ptrace.Moment(at - max(0, left-sleepStep)))
	}
}
