// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"os"
	"runtime"
	"time"

	"prywalk/internal/account/runstats"
	"prywalk/internal/host/cgroup"
	"prywalk/internal/host/procmem"
	"prywalk/internal/watch/target"
	"prywalk/ptrace"
)

// pacer decides when ticks are made, and how many threads they observe.
type pacer struct {
	shared *target.SharedState
	ticks  *ticks
	budget overheadBudget
	quota  *quota // nil means none, or not applied to the tracer's priority
	subset subset

	closedQuotas runstats.OwnQuota // effects of the quotas that closeQuota has closed
}

func newPacer(s *target.SharedState, o *target.SamplingOptions, start ptrace.Moment) *pacer {
	p := &pacer{
		shared: s, ticks: newTicks(start, o.Freq), subset: newSubset(o.Subset, uint64(start)),
		budget: newOverheadBudget(o.Freq, o.MaxOverhead, runtime.NumCPU()),
	}
	p.budget.limitsOwn = o.LimitOwnCPU
	return p
}

func (p *pacer) begin(now ptrace.Moment, freq float64) {
	p.ticks.restart(now, freq)
	p.budget.since = now
}

func (p *pacer) resume(now ptrace.Moment) {
	p.ticks.restart(now, p.budget.updateRate(now))
}

func (p *pacer) openQuota(limits []cgroup.CPUQuota, scheduling string) {
	p.quota = newQuota(limits, scheduling)
	if p.quota.mustStopOnlyOnCPU() {
		p.shared.Observer.StopOnlyOnCPU(true)
	}
}

func (p *pacer) closeQuota() {
	q := p.quota
	p.quota = nil // stats may be called while a hanging tracer is closing it
	p.closedQuotas.Add(q.stats())
	q.close()
}

func (p *pacer) underQuota() bool { return p.quota != nil }

// period returns the mean distance of ticks.
func (p *pacer) period() time.Duration { return p.ticks.period }

// next returns the next tick, and the rate of an engine's samples, 1/s.
func (p *pacer) next(now ptrace.Moment) (tick ptrace.Moment, sampleRate float64) {
	p.chargeSamples()
	rate := p.quota.rate(p.budget.updateRate(now))
	p.ticks.setRate(now, rate)
	return p.ticks.next(now), p.budget.sampleRate(rate)
}

func (p *pacer) chargeSamples() { p.budget.chargeSamples(p.shared.EngineSamples) }

// withinQuota may move the process to another CPU.
func (p *pacer) withinQuota() bool {
	if p.quota.moveIfDue(p.shared.Observer.Stops.PendingStops()) {
		p.shared.Observer.Preemption().Woken(ptrace.Now())
	}
	return p.quota.admitTick()
}

func (p *pacer) isLimited() bool { return p.budget.limited() }

// withinBudget reports whether a tick may begin. targetCPU is the tracked processes' CPU time so far.
func (p *pacer) withinBudget(targetCPU time.Duration) bool {
	p.budget.setTargetCPU(targetCPU + p.shared.ChildCPU)
	if p.budget.overdrawn() > 0 {
		p.budget.withheld++
		return false
	}
	return true
}

func (p *pacer) recordTick(observed int64) {
	if !p.isLimited() {
		return
	}
	if self, err := procmem.ProcessCPU(os.Getpid()); err == nil {
		p.budget.recordTick(time.Duration(self), observed)
	}
}

func (p *pacer) countMissed() { p.ticks.missed++ }

// drawsSubset reports whether a tick may observe only some of the due threads.
func (p *pacer) drawsSubset() bool {
	return !p.shared.Ending && (p.subset.limited() || p.budget.observesPart())
}

func (p *pacer) beginDraw(due int) (duePerDrawn float64) {
	return p.subset.begin(due, p.budget.admit(due))
}

func (p *pacer) draw() bool { return p.subset.draw() }

func (p *pacer) admitsObservation() bool { return p.shared.Ending || p.quota.admitObservation() }

// chargeStop returns the length, without the time in which the quota suspended prywalk.
func (p *pacer) chargeStop(ns time.Duration) (own time.Duration) {
	own = p.quota.ownPart(ns)
	p.budget.addStop(own)
	return own
}

func (p *pacer) progress(to *Progress) {
	to.MissedTicks, to.WithheldTicks, to.Rate = p.ticks.missed, p.budget.withheld, 1e9/float64(p.period())
}

func (p *pacer) stats(s *runstats.Stats) {
	s.MissedTicks = p.ticks.missed
	s.TicksWithheld = p.budget.withheld
	s.Lost = p.budget.lost / 1e9
	quotas := p.closedQuotas
	quotas.Add(p.quota.stats()) // an open one's, if the tracer hangs
	s.OwnQuota = quotas
	s.NotDrawn = p.subset.notDrawn
}
