// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"prywalk/internal/schedule"
	"prywalk/internal/selfruntime"
)

func (t *Tracer) skipTicks(now, next int64) int64 {
	if !t.maySkip(now) {
		return next
	}
	t.Skipper.SetCPUTime(int64(selfruntime.CPUTime()))
	after, ok := t.pace.skip(next, t.isSteady(now))
	if !ok {
		return next
	}
	for _, p := range t.tracked.processes() {
		t.Backoff.TicksSkipped(p.backoff)
	}
	return after
}

func (t *Tracer) maySkip(now int64) bool {
	if !t.engine.Coverage().Complete || !t.pace.maySkip(now) {
		return false
	}
	for _, p := range t.tracked.processes() {
		if !p.list.knowsStart() || p.Handover.CodeChanging(now) {
			return false // its samples are walked while its code is mapped
		}
	}
	return true
}

func (t *Tracer) isSteady(now int64) bool {
	for _, p := range t.tracked.processes() {
		for _, sleeper := range p.backoff.Due {
			isSteady := ownerOf(sleeper).Steady.IsSteady() || sleeper.AsleepFor(now) >= schedule.SteadyFor
			if !isSteady && !sleeper.Gone {
				return false
			}
		}
	}
	return true
}
