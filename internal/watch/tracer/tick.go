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
		t.reportSuspension(ptrace.Now())
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

func (t *Tracer) makeTick(now, deadline ptrace.Moment) {
	switch {
	case !t.admitsTick(now):
		t.withheldTick(now, deadline)
	case t.backlog.isFull(now):
		t.missedTick(now, deadline)
	default:
		t.tick(now, deadline)
	}
}

// tick observes each thread that is due, once. Stops that are pending at the deadline finish later. The
// reasons of the order:
//
//   - The engine chooses the processes that it samples before any other thread is observed.
//   - New threads may be short-lived. Those that the engine samples come after DrainAll: their clocks must
//     be read after their samples were taken.
//   - Whether to draw depends on how many threads are due: they are listed and woken before.
func (t *Tracer) tick(now, deadline ptrace.Moment) {
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
func (t *Tracer) withheldTick(now, deadline ptrace.Moment) {
	_ = t.shared.Garbage.Draining(int64(now)) // no stop begins
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
func (t *Tracer) missedTick(now, deadline ptrace.Moment) {
	t.shared.Tick.At, t.shared.Tick.Period = now, t.pace.period()
	t.pace.countMissed()
	t.drainAndHandOver(deadline)
	t.pace.recordTick(0)
}

func (t *Tracer) drainAndHandOver(deadline ptrace.Moment) {
	t.engine.DrainIfDue()
	t.stops.finishUntil(deadline)
	t.backlog.handOver()
}

// # Steps before a tick

// reportSuspension reports earlier observations first: their Unix time differs.
func (t *Tracer) reportSuspension(now ptrace.Moment) {
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

// scheduleTick returns this tick's time and the next one's.
func (t *Tracer) scheduleTick() (now, next ptrace.Moment) {
	now = ptrace.Now()
	next, sampleRate := t.pace.next(now)
	t.engine.SetRate(now, sampleRate)
	return now, next
}

// # Steps of a tick

func (t *Tracer) admitsTick(now ptrace.Moment) bool {
	return t.pace.withinQuota() && (!t.pace.isLimited() || t.pace.withinBudget(t.tracked.cpuTime(now)))
}

const maxPeriods = 4

func (t *Tracer) beginTick(now, deadline ptrace.Moment) {
	period, passed := t.pace.period(), now.Sub(t.run.lastTick)
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
	t.shared.Tick.StandsFor = time.Duration(float64(t.shared.Tick.StandsFor) * duePerDrawn)
	return duePerDrawn == 1
}

func (t *Tracer) endTick(now, deadline ptrace.Moment) {
	ptrace.Pin() // see [stops]
	defer ptrace.Unpin()
	t.stops.endTick(now, deadline)
	if t.shared.Out.Due(now) {
		t.backlog.handOver()
	}
}

// # Steps after a tick

func (t *Tracer) afterTick(now ptrace.Moment) {
	t.listings.reportEnded(now)
	t.requests.addDue(now, t.control.checkpointAsked.Swap(false))
	t.stops.poll()
	t.publish()
	t.shared.Garbage.Collect(int64(now), t.shared.Observer.Stops.PendingStops())
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

const sleepStep = 20 * time.Millisecond // between checks of a sleeping tracer

func sleepUntil(ctx context.Context, ctl *ptrace.Controller, at ptrace.Moment) {
	for {
		left := at.Sub(ptrace.Now())
		if left <= 0 || hasEnded(ctx) || ptrace.Suspending() {
			return
		}
		ctl.Sleeper.SleepUntil(at.Add(-max(0, left-sleepStep)))
	}
}
