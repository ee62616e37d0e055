// SPDX-License-Identifier: Apache-2.0

package backoff

const (
	// decideEvery is the period of decisions, in nanoseconds.
	decideEvery = 1e9
	// Sums fade by one part in stretchFades per decision, so that threads that wake twice a minute count.
	stretchFades = 32
)

// stretch decides the length of back-offs in a process, by the part of its CPU time that backed-off threads used. A
// thread that only sleeps can be observed seldom. But where each of a thousand threads wakes now and then, these bursts
// are most of the load.
type stretch struct {
	extra           int64  // factor of back-offs, less one
	decidedAt       int64  // last decision, CLOCK_MONOTONIC ns
	clockAtDecision uint64 // of the process then, ns
	ran             int64  // recent CPU time of the process, ns
	bursts          int64  // of it, by backed-off threads, ns
}

// factor gives the factor of back-offs, from 1 on.
func (s *stretch) factor() int64 { return s.extra + 1 }

// burst adds CPU time of a thread used while it was backed off.
func (s *stretch) burst(ns int64) { s.bursts += ns }

// decide updates the factor, with the process's clock.
func (s *stretch) decide(now int64, clock uint64) {
	if now-s.decidedAt < decideEvery {
		return
	}
	if s.decidedAt != 0 {
		s.ran += int64(clock - s.clockAtDecision)
	}
	s.decidedAt, s.clockAtDecision = now, clock
	switch {
	case s.bursts*burstShare > s.ran:
		s.extra = 0
	case s.ran > 0: // else the clock's standstill decides
		s.extra = min(2*s.extra+1, maxStretch-1)
	}
	s.ran -= s.ran / stretchFades
	s.bursts -= s.bursts / stretchFades
}
