// SPDX-License-Identifier: Apache-2.0

package attribute

import (
	"math/bits"

	"prywalk/internal/sample"
)

// Observed gives the moment up to which it is known where the thread was.
func (c *Clock) Observed() int64 { return c.last.Wall + c.queuedFor }

// Skip books so much of the interval that a look ends as not observed: nobody looked meanwhile. Of what the clocks
// moved it gets the same part as of the time; the rest is the look's. What is proven stays where it is: that the
// thread slept all along, or was queued up to the last tick at which it was found so.
func (c *Clock) Skip(length int64, r sample.Reading, state sample.State, emit func(Span)) {
	cpu, runq := c.moved(r)
	if c.isOpen && state != sample.Running && cpu == 0 && runq == 0 {
		return // who had run would have used processor time
	}
	queued := c.bookQueued(c.last.Wall, runq, emit)
	runq -= queued
	c.pass(queued, 0, queued)
	whole := r.Wall - c.last.Wall
	if length = min(length, whole); length <= 0 {
		return
	}
	cpu, runq = parts(cpu, runq, length, whole)
	c.Cut(emit)
	c.pass(length, cpu, runq)
	end := c.last.Wall
	if ran := cpu + runq; ran < length {
		emit(Span{Seen: Seen{State: sample.Sleeping}, Leaf: NotObserved, End: end - ran, Wall: length - ran})
	}
	if ran := cpu + runq; ran > 0 {
		emit(Span{Seen: Seen{State: sample.Running}, Leaf: NotObserved, End: end, Wall: ran, RunQueue: runq, CPU: cpu})
	}
}

// parts gives what of processor and queue time falls to length of whole, so that neither there nor in what is left is
// more of them than time.
func parts(cpu, runq, length, whole int64) (int64, int64) {
	c := min(portion(cpu, length, whole), length)
	q := min(portion(runq, length, whole), length-c)
	rounded := cpu + runq - (whole - length) - (c + q)
	c += max(min(rounded, cpu-c, length-c-q), 0)
	rounded = cpu + runq - (whole - length) - (c + q)
	return c, q + max(min(rounded, runq-q, length-c-q), 0)
}

// pass goes on to a moment of which the time up to there is booked.
func (c *Clock) pass(wall, cpu, runq int64) {
	c.used += cpu + runq
	c.last.Wall += wall
	c.last.CPU += cpu
	c.last.RunQueue += runq
}

// Ends takes the thread's clocks at the end of its time, where its last look was not made: it could not be looked
// at, or did not stop in time. What is left is not observed if the thread was left alone for longer than patience,
// else it is carried, for finish.
func (c *Clock) Ends(r sample.Reading, patience int64, emit func(Span)) {
	if alone := r.Wall - c.Observed(); alone > patience {
		c.Skip(alone, r, sample.Running, emit)
	}
	from := c.last.Wall
	cpu, runq, blocked := c.advance(r)
	runq -= c.bookQueued(from, runq, emit)
	c.carryCPU += cpu
	c.carryRunq += runq
	if c.isOpen {
		c.open.Wall += blocked
		c.open.End = r.Wall
	} else {
		c.carryBlocked += blocked
	}
}

// portion gives part of whole of a value, rounded down. Precondition: none is negative, part is at most whole, and
// whole is positive.
func portion(v, part, whole int64) int64 {
	hi, lo := bits.Mul64(uint64(v), uint64(part))
	q, _ := bits.Div64(hi, lo, uint64(whole))
	return int64(q)
}
