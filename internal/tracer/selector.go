// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"slices"

	"prywalk/internal/backoff"
	"prywalk/internal/engine"
	"prywalk/ptrace"
)

// selector chooses the threads of a tick: all that are not backed off, or a random subset.
type selector struct {
	*engine.SharedState
	pace         *pace
	stops        *stops
	tracked      *tracked
	observations *observations
	rotation     int // each tick begins with another thread of each process
}

// observeDue observes the due threads of all processes, or draws some of them, and begins their back-offs.
func (s *selector) observeDue() {
	s.rotation++
	all := s.beginDraw()
	for _, p := range s.tracked.processes() {
		if all {
			s.observe(p.backoff.Due)
			s.observeBackedOff(p)
		} else {
			s.observeDrawn(p.backoff.Due)
		}
		s.Backoff.BackOff(p.backoff)
	}
}

func (s *selector) observe(list []*backoff.ThreadState) {
	for i := range list {
		if ptrace.Suspending() {
			return
		}
		th := ownerOf(list[(i+s.rotation)%len(list)])
		if !th.gone && !s.observations.wasTried(th) {
			s.stops.yieldCPU()
			s.observations.observe(th)
		}
	}
}

// observeBackedOff observes backed-off threads if one must have run, as the process's clock grew by more than its
// observed threads ran ([backoff.Policy.SearchDue]); those that have run before come first.
func (s *selector) observeBackedOff(p *process) {
	if !s.Backoff.SearchDue(p.backoff) {
		return
	}
	n := s.wakeAndObserve(p, false)
	if s.Backoff.Unexplained(p.backoff) {
		n += s.wakeAndObserve(p, true)
		s.Backoff.AllObserved(p.backoff)
	}
	s.Backoff.SearchEnded(p.backoff, n)
}

func (s *selector) wakeAndObserve(p *process, all bool) int {
	already := len(p.backoff.Due)
	for _, th := range p.list.all() {
		if all || th.Backoff.HasRun() {
			s.Backoff.Wake(&th.Backoff)
		}
	}
	woken := p.backoff.Due[already:]
	s.observe(woken)
	return len(woken)
}

// beginDraw returns true if every due thread is observed.
func (s *selector) beginDraw() (all bool) {
	if s.Ending {
		return true // for each thread's clocks, and its sleep so far
	}
	dueCount := 0
	for _, p := range s.tracked.processes() {
		dueCount += len(p.backoff.Due)
	}
	duePerDrawn := s.pace.beginDraw(dueCount)
	s.observations.extendInterval(duePerDrawn)
	return duePerDrawn == 1
}

// observeDrawn observes the drawn threads, the youngest first, as they may be short-lived.
func (s *selector) observeDrawn(list []*backoff.ThreadState) {
	for _, t := range slices.Backward(list) {
		if ptrace.Suspending() {
			return
		}
		if th := ownerOf(t); s.pace.draw() && !th.gone && !s.observations.wasTried(th) {
			s.stops.yieldCPU()
			s.observations.observe(th)
		}
	}
}

// observePreempted observes the thread that the tracer's wake-up has preempted, before anything else.
func (s *selector) observePreempted() {
	if s.pace.drawsSubset() || !s.stops.mayPreemptTarget() {
		return
	}
	for _, p := range s.tracked.processes() {
		for _, t := range p.backoff.Due {
			if th := ownerOf(t); !th.gone && !s.Observer.AddCandidate(th.Observed) {
				return
			}
		}
	}
	observed := s.Observer.FindPreempted()
	if observed == nil {
		return
	}
	if th := s.tracked.thread(observed.PID, observed.TID); th != nil {
		s.observations.observe(th)
	}
}
