// SPDX-License-Identifier: Apache-2.0

package attribute

import (
	"slices"

	"prywalk/internal/base/sample"
)

type times struct{ cpu, runQueue, blocked int64 } // ns

func (t times) cpuAndQueue() int64 { return t.cpu + t.runQueue }

// within returns the time in length ns of whole; the rest fits whole − length.
func (t times) within(length, whole int64) times {
	cpu := min(sample.Portion(t.cpu, length, whole), length)
	runQueue := min(sample.Portion(t.runQueue, length, whole), length-cpu)
	rounded := t.cpuAndQueue() - (whole - length) - (cpu + runQueue)
	cpu += max(min(rounded, t.cpu-cpu, length-cpu-runQueue), 0)
	rounded = t.cpuAndQueue() - (whole - length) - (cpu + runQueue)
	runQueue += max(min(rounded, t.runQueue-runQueue, length-cpu-runQueue), 0)
	return times{cpu: cpu, runQueue: runQueue}
}

// divider divides total in proportion to weights ≥ 0, whose sum is weightSum > 0. The sum of the parts is total.
type divider struct {
	total, weightSum int64
	weight           int64
	given            int64
}

func (d *divider) next(weight int64) int64 {
	d.weight += weight
	part := sample.Portion(d.total, d.weight, d.weightSum) - d.given
	d.given += part
	return part
}

// carryLimit is how long carried time waits, ns. At 1 s and 99 ticks/s, a seventh of the time of a thread that is on
// CPU for 2 % of it would go to [RanBetweenTicks]; at 5 s almost none.
const carryLimit = 5e9

// Longer queue time keeps its end, as chains of other threads depend on it.
const minQueued, maxParts = 5e6, 32 // ns; parts

// carriedTimes is time without a stack yet: times has one common end (until), each part its own.
type carriedTimes struct {
	times       times
	parts       []carriedPart
	since       int64 // of CPU and run queue time, CLOCK_MONOTONIC ns
	until       int64 // where times' CPU and run queue time ends, CLOCK_MONOTONIC ns
	stopRefused bool  // since then ([sample.NotStopped])
}

type carriedPart struct{ end, cpu, runQueue int64 } // CLOCK_MONOTONIC ns; ns

func (c *carriedTimes) add(cpu, runQueue, now int64) {
	c.begin(cpu+runQueue, now)
	if ran := c.times.cpuAndQueue() + cpu + runQueue; ran > 0 {
		c.until += sample.Portion(now-c.until, cpu+runQueue, ran)
	}
	c.times.cpu += cpu
	c.times.runQueue += runQueue
}

func (c *carriedTimes) addPart(cpu, runQueue, end int64) {
	c.begin(cpu+runQueue, end)
	if cpu+runQueue > 0 {
		c.parts = append(c.parts, carriedPart{end, cpu, runQueue})
	}
}

func (c *carriedTimes) begin(ran, now int64) {
	if ran > 0 && c.ran() == 0 {
		c.since = now
	}
}

// cut moves the end of all carried time so that it begins at now: the next part of the recording has it.
func (c *carriedTimes) cut(now int64) {
	for _, p := range c.parts {
		c.times.cpu, c.times.runQueue = c.times.cpu+p.cpu, c.times.runQueue+p.runQueue
	}
	c.parts, c.until = c.parts[:0], now+c.times.cpuAndQueue()
}

func (c *carriedTimes) ran() int64 {
	ran := c.times.cpuAndQueue()
	for _, p := range c.parts {
		ran += p.cpu + p.runQueue
	}
	return ran
}

func (c *carriedTimes) isOverdue(now int64) bool { return c.ran() > 0 && now-c.since > carryLimit }

// takeCPU takes the CPU time, but not that of parts. It also ends stopRefused.
func (c *carriedTimes) takeCPU() int64 {
	c.stopRefused = false
	return take(&c.times.cpu)
}

// takePartsCPU takes the parts' CPU time.
func (c *carriedTimes) takePartsCPU() (ns int64) {
	for i := range c.parts {
		ns += take(&c.parts[i].cpu)
	}
	return ns
}

func take(ns *int64) (taken int64) {
	taken, *ns = *ns, 0
	return taken
}

// threadClocks are the readings up to which a thread's time is attributed. Only Ledger sets them, by Begin, advance and
// advanceBy; readings do not go back.
type threadClocks struct {
	first, last      sample.Reading
	activeSinceFirst int64 // CPU and run queue time, ns
	// blockedDebt is negative blocked time, ≤ 0, ns, of late charges. Later blocked time is reduced by it.
	blockedDebt int64
}

// growth leaves out queue time before the first reading: it is charged at its end.
func (c *threadClocks) growth(now sample.Reading) (t times) {
	t.cpu = max(now.CPU-c.last.CPU, 0)
	t.runQueue = min(max(now.RunQueue-c.last.RunQueue, 0), max(now.Wall-c.first.Wall-c.activeSinceFirst-t.cpu, 0))
	return t
}

func (c *threadClocks) advance(now sample.Reading) times {
	t := c.growth(now)
	c.activeSinceFirst += t.cpuAndQueue()
	blocked := now.Wall - c.last.Wall - t.cpuAndQueue() + c.blockedDebt
	c.blockedDebt, t.blocked = min(blocked, 0), max(blocked, 0)
	c.last = now
	return t
}

func (c *threadClocks) advanceBy(wall int64, t times) {
	c.activeSinceFirst += t.cpuAndQueue()
	c.last.Wall += wall
	c.last.CPU += t.cpu
	c.last.RunQueue += t.runQueue
}

func (c *threadClocks) payDebt(blocked int64) int64 {
	paid := min(-c.blockedDebt, blocked)
	c.blockedDebt += paid
	return paid
}

// mergeLimit bounds a span of sleep in one place with runs in it, ns.
const mergeLimit = 1e9

type sleepSpan struct {
	span   Span  // if not open, the place and the end are the last sleep's
	open   bool  // else the thread was last found running
	active bool  // the thread has run in it: mergeLimit bounds it
	cut    int64 // its time until the last cut, ns
}

// observe adds a sample asleep. ran: the thread ran since the last sample; blocked is in ns.
func (s *sleepSpan) observe(now int64, place Place, ran bool, blocked int64, emit func(Span)) {
	if s.open && s.span.Place == place && (!ran && !s.active || s.span.Wall+blocked < mergeLimit) {
		s.span.Samples++
		s.span.Wall += blocked
		s.span.End = now
		if ran {
			s.active, s.cut = true, 0
		}
		return
	}
	s.close(emit)
	s.span = Span{Place: place, End: now, Samples: 1, Wall: blocked}
	s.open, s.active, s.cut = true, false, 0
}

func (s *sleepSpan) close(emit func(Span)) {
	s.emitSoFar(emit)
	s.open = false
}

func (s *sleepSpan) emitSoFar(emit func(Span)) {
	if s.open && (s.span.Samples > 0 || s.span.Wall > 0) {
		emit(s.span)
	}
}

// CLOCK_MONOTONIC ns; length was not observed
type gap struct{ from, to, length int64 }

const maxGaps = 1024

// Gaps are the times without samples, ascending.
type Gaps []gap

// Add appends a gap; at maxGaps it merges older neighbours.
func (g *Gaps) Add(from, length int64) {
	if len(*g) >= maxGaps {
		g.merge(len(*g) / 4)
	}
	*g = append(*g, gap{from, from + length, length})
}

func (g *Gaps) merge(n int) {
	list := *g
	for i := range n {
		a, b := list[2*i], list[2*i+1]
		list[i] = gap{a.from, b.to, a.length + b.length}
	}
	*g = slices.Delete(list, n, 2*n)
}

// Within returns the unobserved part of an interval, ns.
func (g *Gaps) Within(from, to int64) (length int64) {
	if g == nil {
		return 0
	}
	list := *g
	for i := len(list) - 1; i >= 0 && list[i].to > from; i-- {
		e := &list[i]
		if part := min(e.to, to) - max(e.from, from); part > 0 {
			length += sample.Portion(e.length, part, e.to-e.from)
		}
	}
	return length
}
