// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"slices"

	"prywalk/internal/watch/target"
	"prywalk/ptrace"
)

type selector struct {
	shared       *target.SharedState
	pace         *pacer
	stops        *stops
	tracked      *tracked
	observations *observations
	rotation     int
}

func (s *selector) observeDue() {
	s.rotation++
	for _, p := range s.tracked.processes() {
		s.observe(p.Backoff.Due)
		s.observeBackedOff(p)
		s.shared.Backoff.BeginBackoffs(p.Backoff)
	}
}

func (s *selector) observeDrawn() {
	for _, p := range s.tracked.processes() {
		s.drawAndObserve(p.Backoff.Due)
		s.shared.Backoff.BeginBackoffs(p.Backoff)
	}
}

func (s *selector) observe(list []*target.Thread) {
	for i := range list {
		if ptrace.Suspending() {
			return
		}
		th := list[(i+s.rotation)%len(list)]
		if !th.Gone && !s.observations.wasTried(th) {
			s.stops.yieldCPU()
			s.observations.observe(th)
		}
	}
}

// observeBackedOff observes backed-off threads if one must have run ([target.Backoffs.SearchDue]), those that have run
// before first.
func (s *selector) observeBackedOff(p *target.Process) {
	if !s.shared.Backoff.SearchDue(p.Backoff) {
		return
	}
	n := s.wakeAndObserve(p, false)
	if s.shared.Backoff.Unexplained(p.Backoff) {
		n += s.wakeAndObserve(p, true)
		s.shared.Backoff.AllObserved(p.Backoff)
	}
	s.shared.Backoff.SearchEnded(p.Backoff, n)
}

func (s *selector) wakeAndObserve(p *target.Process, all bool) int {
	already := len(p.Backoff.Due)
	for _, th := range p.Threads.All() {
		if all || th.HasRun() {
			s.shared.Backoff.Wake(th)
		}
	}
	woken := p.Backoff.Due[already:]
	s.observe(woken)
	return len(woken)
}

// drawAndObserve takes the youngest threads first, as they may be short-lived.
func (s *selector) drawAndObserve(list []*target.Thread) {
	for _, th := range slices.Backward(list) {
		if ptrace.Suspending() {
			return
		}
		if s.pace.draw() && !th.Gone && !s.observations.wasTried(th) {
			s.stops.yieldCPU()
			s.observations.observe(th)
		}
	}
}
