// SPDX-License-Identifier: Apache-2.0

package attribute

import (
	"math"

	"prywalk/internal/sample"
)

// Clock divides a thread's time into spans. Invariants: the sums of CPU, run queue and blocked time are the
// kernel's, and CPU + run queue + blocked = wall.
//
// Between two samples:
//
//   - CPU time goes to the stack at the end, if on a processor.
//   - Run queue time goes there too, also to a queued stack (CPU time would favour blocking calls).
//   - Blocked time goes to the stack that sleeps at the end, else at the beginning.
//
// The rest is carried to the next sample: CPU and run queue time for at most carryLimit, then to the current stack
// under [RanBetweenTicks], or to [NotObserved] if a stop was refused meanwhile; blocked time until a sample asleep or
// the end, under [BlockedBetweenTicks]. Negative blocked time (the kernel charges late) is subtracted from the next.
type Clock struct {
	last          sample.Reading // end of the attributed or carried time
	first         sample.Reading
	started       bool
	ranSinceFirst int64 // CPU and run queue time since first, ns

	open      Span // the current sleep, if isOpen
	isOpen    bool
	ranInOpen bool // during open

	carried      times // to the next sample
	carriedSince int64 // of CPU and run queue time, CLOCK_MONOTONIC ns
	stopRefused  bool  // while the thread ran, since carriedSince ([sample.NotStopped])
	blockedDebt  int64 // negative blocked time to subtract, ns
	hasSample    bool  // the thread has a sample
	lastRunning  Place // last sample found running
	lastOnCPU    Place // last on-CPU sample, at lastOnCPUAt
	lastOnCPUAt  int64
	pending      pendingSamples

	// queuedFor is the time queued in the same place since the last stop, ns; queuedTicks the ticks in it.
	queuedFor, queuedTicks int64
}

// carryLimit is how long CPU time waits for an on-CPU sample, ns. At 99 ticks/s and 1 s, a thread on CPU for 2 %
// of the time would have a seventh of it as not observed; at 5 s almost none.
const carryLimit = 5e9

// mergeLimit bounds a span of sleep in one place in which the thread also ran, ns.
const mergeLimit = 1e9

// Begin sets the reading from which time counts.
func (c *Clock) Begin(r sample.Reading) { c.last, c.first, c.started = r, r, true }

// Observe attributes the time since the last sample. onCPU reports that this stack takes the CPU time; that of a
// sleeping thread does if it ran in this call.
func (c *Clock) Observe(r sample.Reading, s Place, onCPU bool, emit func(Span)) {
	c.observeUpTo(math.MaxInt64, r, s, onCPU, emit)
}

// observeUpTo is Observe for at most the given CPU time, ns. It returns the attributed time and the rest, which
// the caller attributes.
func (c *Clock) observeUpTo(most int64, r sample.Reading, s Place, onCPU bool, emit func(Span)) (got, rest int64) {
	if onCPU {
		c.attributePending(emit)
	}
	t := c.beginInterval(r, emit)
	if s.State == sample.Running {
		return c.observeRunning(most, r, s, onCPU, t, emit)
	}
	ran := t.ran() > 0
	if onCPU {
		got, rest = c.splitCPU(t.cpu, most)
		runQueue := t.runQueue + c.carried.runQueue
		c.carried.runQueue = 0
		where := s.running()
		emit(Span{Place: where, End: r.Wall, Wall: got + runQueue, RunQueue: runQueue, CPU: got})
		c.lastOnCPU, c.lastOnCPUAt = where, r.Wall
	} else {
		c.carryOver(r, t.cpu, t.runQueue, emit)
	}
	blocked := t.blocked + c.carried.blocked
	c.carried.blocked = 0
	c.addSleep(r, s, ran, blocked, 1, emit)
	c.attributePendingIfDue(r.Wall, true, emit)
	return got, rest
}

func (c *Clock) beginInterval(r sample.Reading, emit func(Span)) times {
	if !c.started {
		c.Begin(r)
	}
	c.hasSample = true
	from := c.last.Wall
	t := c.advance(r)
	t.runQueue -= c.attributeQueued(from, t.runQueue, emit)
	return t
}

// splitCPU divides CPU time and carried CPU time into at most the given time and the rest.
func (c *Clock) splitCPU(cpu, most int64) (got, rest int64) {
	cpu += c.takeCarried()
	return min(cpu, most), max(cpu-most, 0)
}

// takeCarried removes the carried CPU time.
func (c *Clock) takeCarried() (cpu int64) {
	cpu, c.carried.cpu, c.stopRefused = c.carried.cpu, 0, false
	return cpu
}

func (c *Clock) addSleep(r sample.Reading, s Place, ran bool, blocked, samples int64, emit func(Span)) {
	if c.isOpen && c.open.Place == s && (!ran && !c.ranInOpen || c.open.Wall+blocked < mergeLimit) {
		c.open.Samples += samples
		c.open.Wall += blocked
		c.open.End = r.Wall
		c.ranInOpen = c.ranInOpen || ran
		return
	}
	c.close(emit)
	c.open = Span{Place: s, End: r.Wall, Samples: samples, Wall: blocked}
	c.isOpen, c.ranInOpen = true, false
}

func (c *Clock) observeRunning(
	most int64, r sample.Reading, s Place, onCPU bool, t times, emit func(Span),
) (got, rest int64) {
	c.endSleep(r, t, emit)
	if onCPU {
		got, rest = c.splitCPU(t.cpu, most)
		c.lastOnCPU, c.lastOnCPUAt = s, r.Wall
	} else {
		c.carryOver(r, t.cpu, 0, emit)
	}
	runQueue := t.runQueue + c.carried.runQueue
	c.carried.runQueue = 0
	emit(Span{Place: s, End: r.Wall, Samples: 1, Wall: got + runQueue, RunQueue: runQueue, CPU: got})
	c.lastRunning = s
	return got, rest
}

// endSleep ends the open span of sleep at the time when the thread was queued or ran.
func (c *Clock) endSleep(r sample.Reading, t times, emit func(Span)) {
	if c.isOpen {
		// Queue time is charged late: it was taken for blocked time.
		late := min(-c.blockedDebt, c.open.Wall)
		c.blockedDebt += late
		c.open.Wall += t.blocked - late
		c.open.End = r.Wall - t.ran()
		c.close(emit)
	} else {
		c.carried.blocked += t.blocked
		late := min(-c.blockedDebt, c.carried.blocked)
		c.blockedDebt += late
		c.carried.blocked -= late
	}
}

// attributeQueued emits and returns the queue time that unchanged ticks have proven, at most runQueue.
func (c *Clock) attributeQueued(from, runQueue int64, emit func(Span)) int64 {
	if c.queuedTicks == 0 {
		return 0
	}
	q := min(runQueue, c.queuedFor)
	if c.hasSample {
		emit(Span{Place: c.lastRunning, End: from + q, Samples: c.queuedTicks, Wall: q, RunQueue: q})
	} else if q > 0 {
		emit(Span{Place: Place{State: sample.Running}, Leaf: NotObserved, End: from + q, Wall: q, RunQueue: q})
	}
	c.queuedFor, c.queuedTicks = 0, 0
	return q
}

// growth returns the CPU and run queue time since the last reading.
func (c *Clock) growth(r sample.Reading) (t times) {
	t.cpu = max(r.CPU-c.last.CPU, 0)
	// Queue time is charged at its end: part of it may lie before first.
	t.runQueue = min(max(r.RunQueue-c.last.RunQueue, 0), max(r.Wall-c.first.Wall-c.ranSinceFirst-t.cpu, 0))
	return t
}

// advance makes r the last reading and returns the time since the one before.
func (c *Clock) advance(r sample.Reading) times {
	t := c.growth(r)
	c.ranSinceFirst += t.ran()
	blocked := r.Wall - c.last.Wall - t.ran() + c.blockedDebt
	c.blockedDebt, t.blocked = min(blocked, 0), max(blocked, 0)
	c.last = r
	return t
}

// carryOver carries time to the next sample, and attributes carried time older than carryLimit.
func (c *Clock) carryOver(r sample.Reading, cpu, runQueue int64, emit func(Span)) {
	if c.carried.ran() > 0 && r.Wall-c.carriedSince > carryLimit {
		c.attributeCarried(r.Wall, emit)
	}
	if cpu+runQueue > 0 {
		if c.carried.ran() == 0 {
			c.carriedSince = r.Wall
		}
		c.carried.cpu += cpu
		c.carried.runQueue += runQueue
	}
}

// Settle attributes carried time of a sleeping thread that is older than carryLimit.
func (c *Clock) Settle(emit func(Span)) {
	if c.isOpen && c.carried.ran() > 0 && c.last.Wall-c.carriedSince > carryLimit {
		c.attributeCarried(c.last.Wall, emit)
	}
}

func (c *Clock) attributeCarried(now int64, emit func(Span)) {
	if ran := c.carried.ran(); ran > 0 {
		s := Span{Place: c.lastRunning.running(), Leaf: c.syntheticFrame(RanBetweenTicks)}
		switch {
		case c.stopRefused:
			s.Place, s.Leaf = Place{State: sample.Running}, NotObserved
		case c.isOpen:
			s.Place = c.open.running()
		}
		s.End, s.Wall, s.RunQueue, s.CPU = now, ran, c.carried.runQueue, c.takeCarried()
		emit(s)
	}
	c.carried.runQueue = 0
	if c.carried.blocked > 0 && !c.isOpen {
		where := c.lastRunning
		where.State = sample.Sleeping
		emit(Span{Place: where, Leaf: c.syntheticFrame(BlockedBetweenTicks), End: now, Wall: c.carried.blocked})
		c.carried.blocked = 0
	}
}

func (c *Clock) syntheticFrame(leaf string) string {
	if !c.hasSample {
		return NotObserved
	}
	return leaf
}

// Unchanged extends the open span to r, the last of reuses ticks at which the thread was unchanged.
func (c *Clock) Unchanged(r sample.Reading, reuses int64, emit func(Span)) {
	if reuses == 0 {
		return
	}
	if !c.isOpen {
		c.queuedFor = r.Wall - c.last.Wall
		c.queuedTicks += reuses
		return
	}
	c.open.Samples += reuses
	c.open.Wall += c.advance(r).blocked
	c.open.End = r.Wall
	c.attributePendingIfDue(r.Wall, true, emit)
}

// Cut emits the open span and begins an empty one, for a checkpoint.
func (c *Clock) Cut(emit func(Span)) {
	c.attributePending(emit)
	if c.isOpen && (c.open.Samples > 0 || c.open.Wall > 0) {
		emit(c.open)
		c.open.Samples, c.open.Wall = 0, 0
	}
}

// Open emits the open span so far, and keeps it open.
func (c *Clock) Open(emit func(Span)) {
	c.emitPending(emit)
	if c.isOpen && (c.open.Samples > 0 || c.open.Wall > 0) {
		emit(c.open)
	}
}

func (c *Clock) close(emit func(Span)) {
	if c.isOpen && (c.open.Samples > 0 || c.open.Wall > 0) {
		emit(c.open)
	}
	c.isOpen = false
}

// Finish attributes the rest: to the last on-CPU sample if that is younger than carryLimit.
func (c *Clock) Finish(emit func(Span)) {
	c.attributePendingAndCarried(emit)
	if c.carried.cpu > 0 && c.lastOnCPUAt > 0 && c.last.Wall-c.lastOnCPUAt < carryLimit {
		cpu := c.takeCarried()
		emit(Span{Place: c.lastOnCPU, End: c.last.Wall, Wall: cpu, CPU: cpu})
	}
	c.attributeQueued(c.last.Wall, 0, emit)
	c.attributeCarried(c.last.Wall, emit)
	c.close(emit)
}

// KnownUntil returns the time up to which the thread's place is known, CLOCK_MONOTONIC ns.
func (c *Clock) KnownUntil() int64 { return c.last.Wall + c.queuedFor }

// MarkNotObserved attributes length ns of the time up to r, with its fraction of CPU and run queue time, as not
// observed. Proven sleep or queue time keeps its place.
func (c *Clock) MarkNotObserved(length int64, r sample.Reading, state sample.State, emit func(Span)) {
	t := c.growth(r)
	if c.isOpen && state != sample.Running && t.cpu == 0 && t.runQueue == 0 {
		return
	}
	queued := c.attributeQueued(c.last.Wall, t.runQueue, emit)
	t.runQueue -= queued
	c.advanceBy(queued, times{runQueue: queued})
	whole := r.Wall - c.last.Wall
	if length = min(length, whole); length <= 0 {
		return
	}
	t = t.within(length, whole)
	c.Cut(emit)
	c.advanceBy(length, t)
	end, ran := c.last.Wall, t.ran()
	if ran < length {
		emit(Span{Place: Place{State: sample.Sleeping}, Leaf: NotObserved, End: end - ran, Wall: length - ran})
	}
	if ran > 0 {
		emit(Span{Place: Place{State: sample.Running}, Leaf: NotObserved, End: end, Wall: ran, RunQueue: t.runQueue,
			CPU: t.cpu})
	}
}

// advanceBy advances the last reading by wall ns, with CPU and run queue time t.
func (c *Clock) advanceBy(wall int64, t times) {
	c.ranSinceFirst += t.ran()
	c.last.Wall += wall
	c.last.CPU += t.cpu
	c.last.RunQueue += t.runQueue
}

// EndWithoutSample takes the clocks at the thread's end. If the last sample is older than patience ns, the time
// since is not observed; else it is carried.
func (c *Clock) EndWithoutSample(r sample.Reading, patience int64, emit func(Span)) {
	if alone := r.Wall - c.KnownUntil(); alone > patience {
		c.MarkNotObserved(alone, r, sample.Running, emit)
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

// NotStopped attributes the time up to r, in which the thread was not stopped. inCall reports that it was in the
// call of the last sample throughout.
func (c *Clock) NotStopped(r sample.Reading, inCall bool, emit func(Span)) {
	if !c.started || r.Wall <= c.last.Wall {
		return
	}
	from := c.last.Wall
	t := c.advance(r)
	t.runQueue -= c.attributeQueued(from, t.runQueue, emit)
	if c.isOpen {
		c.open.Wall += t.blocked
		c.open.End, c.ranInOpen = r.Wall, true
	} else {
		c.carried.blocked += t.blocked
	}
	if inCall && !c.isOpen {
		emit(Span{Place: c.lastRunning, End: r.Wall, Wall: t.ran(), RunQueue: t.runQueue, CPU: t.cpu})
		return
	}
	c.carried.cpu += t.cpu
	c.carried.runQueue += t.runQueue
	c.attributeCarried(r.Wall, emit)
}
