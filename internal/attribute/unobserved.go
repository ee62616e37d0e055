// SPDX-License-Identifier: Apache-2.0

package attribute

import "prywalk/internal/sample"

// Observed returns the time up to which the thread's place is known, CLOCK_MONOTONIC ns.
func (c *Clock) Observed() int64 { return c.last.Wall + c.queuedFor }

// Skip attributes length ns of the time up to r, with its fraction of CPU and run queue time, as not observed.
// Proven sleep or queue time keeps its place.
func (c *Clock) Skip(length int64, r sample.Reading, state sample.State, emit func(Span)) {
	t := c.growth(r)
	if c.isOpen && state != sample.Running && t.cpu == 0 && t.runQueue == 0 {
		return
	}
	queued := c.attributeQueued(c.last.Wall, t.runQueue, emit)
	t.runQueue -= queued
	c.skipTo(queued, times{runQueue: queued})
	whole := r.Wall - c.last.Wall
	if length = min(length, whole); length <= 0 {
		return
	}
	t = t.within(length, whole)
	c.Cut(emit)
	c.skipTo(length, t)
	end, ran := c.last.Wall, t.ran()
	if ran < length {
		emit(Span{Seen: Seen{State: sample.Sleeping}, Leaf: NotObserved, End: end - ran, Wall: length - ran})
	}
	if ran > 0 {
		emit(Span{Seen: Seen{State: sample.Running}, Leaf: NotObserved, End: end, Wall: ran, RunQueue: t.runQueue,
			CPU: t.cpu})
	}
}

// within returns the CPU and run queue time in length ns of whole, rounded so that the rest of both fits whole −
// length.
func (t times) within(length, whole int64) times {
	cpu := min(sample.Portion(t.cpu, length, whole), length)
	runQueue := min(sample.Portion(t.runQueue, length, whole), length-cpu)
	rounded := t.ran() - (whole - length) - (cpu + runQueue)
	cpu += max(min(rounded, t.cpu-cpu, length-cpu-runQueue), 0)
	rounded = t.ran() - (whole - length) - (cpu + runQueue)
	runQueue += max(min(rounded, t.runQueue-runQueue, length-cpu-runQueue), 0)
	return times{cpu: cpu, runQueue: runQueue}
}

// skipTo advances the last reading by wall ns, with CPU and run queue time t.
func (c *Clock) skipTo(wall int64, t times) {
	c.used += t.ran()
	c.last.Wall += wall
	c.last.CPU += t.cpu
	c.last.RunQueue += t.runQueue
}

// EndWithoutSample takes the clocks at the thread's end. If the last sample is older than patience ns, the time
// since is not observed; else it is carried.
func (c *Clock) EndWithoutSample(r sample.Reading, patience int64, emit func(Span)) {
	if alone := r.Wall - c.Observed(); alone > patience {
		c.Skip(alone, r, sample.Running, emit)
	}
	from := c.last.Wall
	t := c.advance(r)
	t.runQueue -= c.attributeQueued(from, t.runQueue, emit)
	c.carried.cpu += t.cpu
	c.carried.runQueue += t.runQueue
	if c.isOpen {
		c.open.Wall += t.blocked
		c.open.End = r.Wall
	} else {
		c.carried.blocked += t.blocked
	}
}
