// SPDX-License-Identifier: Apache-2.0

// Package schedule decides when to observe. It belongs to the tracer's goroutine.
//
//	ticks.go     times of ticks, at random distances about the period
//	budget.go    ticks withheld for --max-overhead
//	quota.go     ticks withheld for prywalk's own CPU quota
//	subset.go    a random part of the observations that are due (--subset)
//	gaps.go      time in which nothing was observed
//	skipticks.go ticks skipped where nothing would change
package schedule

import "math/rand/v2"

// Ticks gives the moments of the ticks, CLOCK_MONOTONIC ns. Their distances are drawn from 3/4 to 5/4 of the period, so
// that ticks do not keep step with periodic work of a target.
type Ticks struct {
	// Missed is the number of ticks whose time had passed.
	Missed int64

	period int64
	due    int64 // time of the last tick, as planned
	rng    *rand.Rand
}

// NewTicks begins at start, with freq ticks/s.
func NewTicks(start int64, freq float64) *Ticks {
	return &Ticks{
		period: int64(1e9 / freq),
		due:    start,
		rng:    rand.New(rand.NewPCG(uint64(start), 0x7072_7977)),
	}
}

// Period gives the mean distance between two ticks at present, ns.
func (s *Ticks) Period() int64 { return s.period }

// Next gives the moment of the next tick, CLOCK_MONOTONIC ns. Ticks whose whole period has passed are missed.
func (s *Ticks) Next(now int64) int64 {
	s.due += s.period - s.period/4 + s.rng.Int64N(s.period/2+1)
	if late := (now - s.due) / s.period; late > 0 {
		s.Missed += late
		s.due += late * s.period
	}
	return s.due
}

// SetRate changes the frequency, in ticks/s, from now on.
func (s *Ticks) SetRate(now int64, freq float64) {
	if period := int64(1e9 / freq); period != s.period {
		s.period, s.due = period, now
	}
}

// Restart begins the ticks again: those before now are neither made nor missed.
func (s *Ticks) Restart(now int64, freq float64) {
	missed := s.Missed
	*s = *NewTicks(now, freq)
	s.Missed = missed
}
