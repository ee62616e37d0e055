// SPDX-License-Identifier: Apache-2.0

// Package schedule says when to look: the moments of the ticks, the budget that withholds some of them, and the
// gaps in which nobody looked. It belongs to the tracer's goroutine.
package schedule

import "math/rand/v2"

// Ticks gives the moments of the ticks. They are absolute, so that a late tick does not shift those after it. Each is
// displaced at random by at most a quarter of the period, so that ticks do not beat with periodic work in the target.
// Times are CLOCK_MONOTONIC in nanoseconds.
type Ticks struct {
	// Missed are the ticks that were left out, as their time had passed.
	Missed int64

	period int64
	start  int64
	n      int64 // ticks given out or missed
	rng    *rand.Rand
}

// NewTicks begins with ticks at a moment, at a frequency in ticks a second.
func NewTicks(start int64, freq float64) *Ticks {
	return &Ticks{
		period: int64(1e9 / freq),
		start:  start,
		rng:    rand.New(rand.NewPCG(uint64(start), 0x7072_7977)),
	}
}

// Period gives the mean distance between two ticks at present, in nanoseconds.
func (s *Ticks) Period() int64 { return s.period }

// Next gives the moment of the next tick. Ticks whose whole period has passed are
// counted as missed and left out.
func (s *Ticks) Next(now int64) int64 {
	if late := (now-s.start)/s.period - s.n; late > 1 {
		s.Missed += late - 1
		s.n += late - 1
	}
	s.n++
	return s.start + s.n*s.period + s.rng.Int64N(s.period/2+1) - s.period/4
}

// SetRate changes the frequency from now on.
func (s *Ticks) SetRate(now int64, freq float64) {
	if period := int64(1e9 / freq); period != s.period {
		s.period, s.start, s.n = period, now, 0
	}
}

// Restart begins the ticks anew at a moment: those before it are neither done nor missed.
func (s *Ticks) Restart(now int64, freq float64) {
	missed := s.Missed
	*s = *NewTicks(now, freq)
	s.Missed = missed
}
