// SPDX-License-Identifier: Apache-2.0

package attribute

import (
	"math/bits"

	"prywalk/internal/sample"
)

// Observed gives the time up to which the place of the thread is known, CLOCK_MONOTONIC ns.
func (c *Clock) Observed() int64 { return c.last.Wall + c.queuedFor }

// Skip attributes length ns of the time up to r as not observed, with that fraction of the CPU and run queue time.
// Proven sleep or queue time keeps its place.
func (c *Clock) Skip(length int64, r sample.Reading, state sample.State, emit func(Span)) {
	cpu, runq := c.growth(r)
	if c.isOpen && state != sample.Running && cpu == 0 && runq == 0 {
		return
	}
	queued := c.attributeQueued(c.last.Wall, runq, emit)
	runq -= queued
	c.skipTo(queued, 0, queued)
	whole := r.Wall - c.last.Wall
	if length = min(length, whole); length <= 0 {
		return
	}
	cpu, runq = parts(cpu, runq, length, whole)
	c.Cut(emit)
	c.skipTo(length, cpu, runq)
	end := c.last.Wall
	if ran := cpu + runq; ran < length {
		emit(Span{Seen: Seen{State: sample.Sleeping}, Leaf: NotObserved, End: end - ran, Wall: length - ran})
	}
	if ran := cpu + runq; ran > 0 {
		emit(Span{Seen: Seen{State: sample.Running}, Leaf: NotObserved, End: end, Wall: ran, RunQueue: runq, CPU: cpu})
	}
}

// parts gives the parts of CPU and run queue time that lie in length ns of whole, so that the rest fits into the rest.
func parts(cpu, runq, length, whole int64) (int64, int64) {
	c := min(portion(cpu, length, whole), length)
	q := min(portion(runq, length, whole), length-c)
	rounded := cpu + runq - (whole - length) - (c + q)
	c += max(min(rounded, cpu-c, length-c-q), 0)
	rounded = cpu + runq - (whole - length) - (c + q)
	return c, q + max(min(rounded, runq-q, length-c-q), 0)
}

// skipTo advances the last reading.
func (c *Clock) skipTo(wall, cpu, runq int64) {
	c.used += cpu + runq
	c.last.Wall += wall
	c.last.CPU += cpu
	c.last.RunQueue += runq
}

// EndWithoutSample takes the clocks at the thread's end without a last sample. If that is older than patience ns, the
// time since is not observed; else it is carried.
func (c *Clock) EndWithoutSample(r sample.Reading, patience int64, emit func(Span)) {
	if alone := r.Wall - c.Observed(); alone > patience {
		c.Skip(alone, r, sample.Running, emit)
	}
	from := c.last.Wall
	cpu, runq, blocked := c.advance(r)
	runq -= c.attributeQueued(from, runq, emit)
	c.carryCPU += cpu
	c.carryRunq += runq
	if c.isOpen {
		c.open.Wall += blocked
		c.open.End = r.Wall
	} else {
		c.carryBlocked += blocked
	}
}

// portion gives v × part / whole, rounded down. Preconditions: none is negative, part ≤ whole, whole > 0.
func portion(v, part, whole int64) int64 {
	hi, lo := bits.Mul64(uint64(v), uint64(part))
	q, _ := bits.Div64(hi, lo, uint64(whole))
	return int64(q)
}
