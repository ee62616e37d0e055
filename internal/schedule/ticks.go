// SPDX-License-Identifier: Apache-2.0

package schedule

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
