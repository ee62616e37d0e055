// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"math/rand/v2"
	"time"

	"prywalk/ptrace"
)

// ticks are at distances from 3/4 to 5/4 of the period, so that they do not keep step with a target.
type ticks struct {
	missed int64

	period time.Duration // present mean distance of two ticks
	due    ptrace.Moment // planned time of the last tick
	rng    *rand.Rand
}

// newTicks returns ticks that begin at start, with freq ticks/s.
func newTicks(start ptrace.Moment, freq float64) *ticks {
	return &ticks{
		period: time.Duration(1e9 / freq),
		due:    start,
		rng:    rand.New(rand.NewPCG(uint64(start), 0x7072_7977)),
	}
}

// next returns the time of the next tick. Ticks whose whole period has passed are missed.
func (t *ticks) next(now ptrace.Moment) ptrace.Moment {
	t.due = t.due.Add(t.period - t.period/4 + time.Duration(t.rng.Int64N(int64(t.period/2+1))))
	if late := int64(now.Sub(t.due) / t.period); late > 0 {
		t.missed += late
		t.due = t.due.Add(time.Duration(late) * t.period)
	}
	return t.due
}

// setRate changes the frequency, ticks/s. A change begins a new period now; ticks that are late by the old one are
// missed, as in [ticks.next].
func (t *ticks) setRate(now ptrace.Moment, freq float64) {
	if period := time.Duration(1e9 / freq); period != t.period {
		t.missed += max(int64((now.Sub(t.due)-t.period)/t.period), 0)
		t.period, t.due = period, now
	}
}

// restart begins the ticks again: those before now are neither made nor missed.
func (t *ticks) restart(now ptrace.Moment, freq float64) {
	missed := t.missed
	*t = *newTicks(now, freq)
	t.missed = missed
}

// subset draws the threads of a tick, with equal chance. The zero value draws all.
type subset struct {
	notDrawn int64

	maxDrawn          int // 0 means no limit
	rng               *rand.Rand
	undecided, toDraw int // threads of this tick
}

// newSubset takes the most threads of a tick; 0 means no limit.
func newSubset(limit int, seed uint64) subset {
	return subset{maxDrawn: limit, rng: rand.New(rand.NewPCG(seed, 0x7375_6273))}
}

// begin begins a tick with due threads, of which the budget admits limit. An observation then stands for duePerDrawn
// times the time.
func (s *subset) begin(due, limit int) (duePerDrawn float64) {
	s.undecided, s.toDraw = due, min(due, limit)
	if s.maxDrawn > 0 {
		s.toDraw = min(s.toDraw, s.maxDrawn)
	}
	if s.toDraw == s.undecided {
		return 1
	}
	s.notDrawn += int64(s.undecided - s.toDraw)
	return float64(s.undecided) / float64(s.toDraw)
}

// draw reports whether the next due thread is drawn.
func (s *subset) draw() bool {
	if s.toDraw < s.undecided && s.rng.IntN(s.undecided) >= s.toDraw {
		s.undecided--
		return false
	}
	s.undecided, s.toDraw = max(s.undecided-1, 0), max(s.toDraw-1, 0)
	return true
}

// limited reports whether a tick draws a limited number of threads.
func (s *subset) limited() bool { return s.maxDrawn > 0 }
