// SPDX-License-Identifier: Apache-2.0

package pace

import "math/rand/v2"

// Ticks are at distances from 3/4 to 5/4 of the period, so that they do not keep step with a target. Times are
// CLOCK_MONOTONIC ns.
type Ticks struct {
	Missed int64

	period int64
	due    int64 // planned time of the last tick
	rng    *rand.Rand
}

// NewTicks returns ticks that begin at start, with freq ticks/s.
func NewTicks(start int64, freq float64) *Ticks {
	return &Ticks{
		period: int64(1e9 / freq),
		due:    start,
		rng:    rand.New(rand.NewPCG(uint64(start), 0x7072_7977)),
	}
}

// Period returns the present mean distance between two ticks, ns.
func (t *Ticks) Period() int64 { return t.period }

// Next returns the time of the next tick. Ticks whose whole period has passed are missed.
func (t *Ticks) Next(now int64) int64 {
	t.due += t.period - t.period/4 + t.rng.Int64N(t.period/2+1)
	if late := (now - t.due) / t.period; late > 0 {
		t.Missed += late
		t.due += late * t.period
	}
	return t.due
}

// SetRate changes the frequency, ticks/s. A change begins a new period now; ticks that are late by the old one are
// missed, as in [Ticks.Next].
func (t *Ticks) SetRate(now int64, freq float64) {
	if period := int64(1e9 / freq); period != t.period {
		t.Missed += max((now-t.due-t.period)/t.period, 0)
		t.period, t.due = period, now
	}
}

// Restart begins the ticks again: those before now are neither made nor missed.
func (t *Ticks) Restart(now int64, freq float64) {
	missed := t.Missed
	*t = *NewTicks(now, freq)
	t.Missed = missed
}

// Subset draws the threads of a tick, with equal chance. The zero value draws all.
type Subset struct {
	NotDrawn int64

	maxDrawn          int // 0: no limit
	rng               *rand.Rand
	undecided, toDraw int // threads of this tick
}

// NewSubset takes the most threads of a tick; 0: no limit.
func NewSubset(limit int, seed uint64) Subset {
	return Subset{maxDrawn: limit, rng: rand.New(rand.NewPCG(seed, 0x7375_6273))}
}

// Begin begins a tick with due threads, of which the budget admits limit. An observation then stands for duePerDrawn
// times the time.
func (s *Subset) Begin(due, limit int) (duePerDrawn float64) {
	s.undecided, s.toDraw = due, min(due, limit)
	if s.maxDrawn > 0 {
		s.toDraw = min(s.toDraw, s.maxDrawn)
	}
	if s.toDraw == s.undecided {
		return 1
	}
	s.NotDrawn += int64(s.undecided - s.toDraw)
	return float64(s.undecided) / float64(s.toDraw)
}

// Draw reports whether the next due thread is drawn.
func (s *Subset) Draw() bool {
	if s.toDraw < s.undecided && s.rng.IntN(s.undecided) >= s.toDraw {
		s.undecided--
		return false
	}
	s.undecided, s.toDraw = max(s.undecided-1, 0), max(s.toDraw-1, 0)
	return true
}

// Limited reports whether a tick draws a limited number of threads.
func (s *Subset) Limited() bool { return s.maxDrawn > 0 }
