// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"os"
	"runtime"

	"prywalk/internal/cgroup"
	"prywalk/internal/engine"
	"prywalk/internal/procmem"
	"prywalk/internal/runstats"
	"prywalk/internal/schedule"
)

// pace applies the limits of package schedule.
type pace struct {
	shared *engine.SharedState
	ticks  *schedule.Ticks
	budget schedule.OverheadBudget
	quota  *schedule.Quota // nil: none, or not applied to the tracer's priority
	subset schedule.Subset

	closedQuotas runstats.OwnQuota // effects of the quotas that closeQuota has closed
}

func newPace(s *engine.SharedState, o *Options, start int64) *pace {
	p := &pace{
		shared: s, ticks: schedule.NewTicks(start, o.Freq), subset: schedule.NewSubset(o.Subset, uint64(start)),
		budget: schedule.NewOverheadBudget(o.Freq, o.MaxOverhead, runtime.NumCPU()),
	}
	if o.LimitOwnCPU {
		p.budget.LimitOwnCPU()
	}
	return p
}

func (p *pace) begin(now int64, freq float64) {
	p.ticks.Restart(now, freq)
	p.budget.Begin(now)
}

func (p *pace) resume(now int64) {
	p.ticks.Restart(now, p.budget.UpdateRate(now))
}

func (p *pace) openQuota(limits []cgroup.CPUQuota, scheduling string) {
	p.quota = schedule.NewQuota(limits, scheduling)
	if p.quota.MustStopOnlyOnCPU() {
		p.shared.Observer.StopOnlyOnCPU(true)
	}
}

func (p *pace) closeQuota() {
	q := p.quota
	p.quota = nil // stats may be called while a hanging tracer is closing it
	p.closedQuotas.Add(q.Stats())
	q.Close()
}

func (p *pace) underQuota() bool { return p.quota != nil }

// period returns the mean distance of ticks, ns.
func (p *pace) period() int64 { return p.ticks.Period() }

// next returns the next tick, CLOCK_MONOTONIC ns, and the rate of an engine's samples, 1/s.
func (p *pace) next(now int64) (tick int64, sampleRate float64) {
	p.chargeSamples()
	rate := p.quota.Rate(p.budget.UpdateRate(now))
	p.ticks.SetRate(now, rate)
	return p.ticks.Next(now), p.budget.SampleRate(rate)
}

func (p *pace) chargeSamples() { p.budget.ChargeSamples(p.shared.EngineSamples) }

// withinQuota may move the process to another CPU.
func (p *pace) withinQuota() bool {
	if p.quota.MoveIfDue(p.shared.Observer.PendingStops()) {
		p.shared.Observer.Preemption().Woken(procmem.Now())
	}
	return p.quota.AdmitTick()
}

func (p *pace) isLimited() bool { return p.budget.Limited() }

// withinBudget reports whether a tick may begin. targetCPU is the targets' CPU time so far, ns.
func (p *pace) withinBudget(targetCPU int64) bool {
	p.budget.SetTargetCPU(targetCPU)
	if p.budget.Overdrawn() > 0 {
		p.budget.Withheld++
		return false
	}
	return true
}

func (p *pace) noteTick(observed int64) {
	if !p.isLimited() {
		return
	}
	if self, err := procmem.ProcessCPU(os.Getpid()); err == nil {
		p.budget.NoteTick(int64(self), observed)
	}
}

func (p *pace) noteMissed() { p.ticks.Missed++ }

// drawsSubset reports whether a tick may observe only some of the due threads.
func (p *pace) drawsSubset() bool {
	return !p.shared.Ending && (p.subset.Limited() || p.budget.ObservesPart())
}

func (p *pace) beginDraw(due int) (duePerDrawn float64) {
	return p.subset.Begin(due, p.budget.Admit(due))
}

func (p *pace) draw() bool { return p.subset.Draw() }

func (p *pace) admitsObservation() bool { return p.shared.Ending || p.quota.AdmitObservation() }

// chargeStop returns the length, ns, without the time in which the quota suspended prywalk.
func (p *pace) chargeStop(ns int64) (own int64) {
	own = p.quota.OwnPart(ns)
	p.budget.AddStop(own)
	return own
}

func (p *pace) progress(to *Progress) {
	to.MissedTicks, to.WithheldTicks, to.Rate = p.ticks.Missed, p.budget.Withheld, 1e9/float64(p.period())
}

func (p *pace) stats(s *runstats.Stats) {
	s.MissedTicks = p.ticks.Missed
	s.TicksWithheld = p.budget.Withheld
	s.Lost = p.budget.Lost() / 1e9
	quotas := p.closedQuotas
	quotas.Add(p.quota.Stats()) // an open one's, if the tracer hangs
	s.OwnQuota = quotas
	s.NotDrawn = p.subset.NotDrawn
}
