// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"os"
	"runtime"

	"prywalk/internal/account/runstats"
	"prywalk/internal/host/cgroup"
	"prywalk/internal/host/procmem"
	"prywalk/internal/watch/engine"
	"prywalk/internal/watch/pace"
)

// pacer applies the limits of package pace to the tracer's ticks.
type pacer struct {
	shared *engine.SharedState
	ticks  *pace.Ticks
	budget pace.OverheadBudget
	quota  *pace.Quota // nil: none, or not applied to the tracer's priority
	subset pace.Subset

	closedQuotas runstats.OwnQuota // effects of the quotas that closeQuota has closed
}

func newPacer(s *engine.SharedState, o *Options, start int64) *pacer {
	p := &pacer{
		shared: s, ticks: pace.NewTicks(start, o.Freq), subset: pace.NewSubset(o.Subset, uint64(start)),
		budget: pace.NewOverheadBudget(o.Freq, o.MaxOverhead, runtime.NumCPU()),
	}
	if o.LimitOwnCPU {
		p.budget.LimitOwnCPU()
	}
	return p
}

func (p *pacer) begin(now int64, freq float64) {
	p.ticks.Restart(now, freq)
	p.budget.Begin(now)
}

func (p *pacer) resume(now int64) {
	p.ticks.Restart(now, p.budget.UpdateRate(now))
}

func (p *pacer) openQuota(limits []cgroup.CPUQuota, scheduling string) {
	p.quota = pace.NewQuota(limits, scheduling)
	if p.quota.MustStopOnlyOnCPU() {
		p.shared.Observer.StopOnlyOnCPU(true)
	}
}

func (p *pacer) closeQuota() {
	q := p.quota
	p.quota = nil // stats may be called while a hanging tracer is closing it
	p.closedQuotas.Add(q.Stats())
	q.Close()
}

func (p *pacer) underQuota() bool { return p.quota != nil }

// period returns the mean distance of ticks, ns.
func (p *pacer) period() int64 { return p.ticks.Period() }

// next returns the next tick, CLOCK_MONOTONIC ns, and the rate of an engine's samples, 1/s.
func (p *pacer) next(now int64) (tick int64, sampleRate float64) {
	p.chargeSamples()
	rate := p.quota.Rate(p.budget.UpdateRate(now))
	p.ticks.SetRate(now, rate)
	return p.ticks.Next(now), p.budget.SampleRate(rate)
}

func (p *pacer) chargeSamples() { p.budget.ChargeSamples(p.shared.EngineSamples) }

// withinQuota may move the process to another CPU.
func (p *pacer) withinQuota() bool {
	if p.quota.MoveIfDue(p.shared.Observer.PendingStops()) {
		p.shared.Observer.Preemption().Woken(procmem.Now())
	}
	return p.quota.AdmitTick()
}

func (p *pacer) isLimited() bool { return p.budget.Limited() }

// withinBudget reports whether a tick may begin. targetCPU is the tracked processes' CPU time so far, ns.
func (p *pacer) withinBudget(targetCPU int64) bool {
	p.budget.SetTargetCPU(targetCPU + p.shared.ChildCPU)
	if p.budget.Overdrawn() > 0 {
		p.budget.Withheld++
		return false
	}
	return true
}

func (p *pacer) noteTick(observed int64) {
	if !p.isLimited() {
		return
	}
	if self, err := procmem.ProcessCPU(os.Getpid()); err == nil {
		p.budget.NoteTick(int64(self), observed)
	}
}

func (p *pacer) noteMissed() { p.ticks.Missed++ }

// drawsSubset reports whether a tick may observe only some of the due threads.
func (p *pacer) drawsSubset() bool {
	return !p.shared.Ending && (p.subset.Limited() || p.budget.ObservesPart())
}

func (p *pacer) beginDraw(due int) (duePerDrawn float64) {
	return p.subset.Begin(due, p.budget.Admit(due))
}

func (p *pacer) draw() bool { return p.subset.Draw() }

func (p *pacer) admitsObservation() bool { return p.shared.Ending || p.quota.AdmitObservation() }

// chargeStop returns the length, ns, without the time in which the quota suspended prywalk.
func (p *pacer) chargeStop(ns int64) (own int64) {
	own = p.quota.OwnPart(ns)
	p.budget.AddStop(own)
	return own
}

func (p *pacer) progress(to *Progress) {
	to.MissedTicks, to.WithheldTicks, to.Rate = p.ticks.Missed, p.budget.Withheld, 1e9/float64(p.period())
}

func (p *pacer) stats(s *runstats.Stats) {
	s.MissedTicks = p.ticks.Missed
	s.TicksWithheld = p.budget.Withheld
	s.Lost = p.budget.Lost() / 1e9
	quotas := p.closedQuotas
	quotas.Add(p.quota.Stats()) // an open one's, if the tracer hangs
	s.OwnQuota = quotas
	s.NotDrawn = p.subset.NotDrawn
}
