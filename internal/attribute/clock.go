// SPDX-License-Identifier: Apache-2.0

package attribute

import (
	"math"

	"prywalk/internal/sample"
)

// carryLimit is how long CPU time that was not observed waits for the thread's next on-CPU look, in nanoseconds. A
// thread that runs 2 % of the time is met on a processor twice a second at 99 ticks. With a limit of one second a
// seventh of its time would be booked as not observed, with five hardly any.
const carryLimit = 5e9

// mergeLimit is how long an interval of a sleeper may grow over ticks between which the thread ran, in nanoseconds.
// Beyond it a new one begins, so that a recording keeps its resolution in time. An interval in which the thread did
// not run at all has no limit.
const mergeLimit = 1e9

// Clock divides a thread's time into spans. Their CPU, run queue and blocked time add up to what the kernel says, and
// CPU + run queue + blocked to wall time.
//
// Between two looks lies an interval. Its CPU time goes to the stack at its end if the thread is on a processor
// there, its queue time if it is on one or queued for one. A queued thread shows where it was woken, not where it
// computes: giving it the CPU time would favour blocking calls. What is left is carried to the next look that may
// have it, or booked under the stack of the moment with the leaf [ran between ticks] after some seconds. Blocked time
// is what is left of wall time. It goes to the stack that sleeps at the end, else to the one that slept at the
// beginning, else it is carried likewise. A residual can come out negative by what the kernel has not booked yet; the
// debt is taken from the next one.
type Clock struct {
	last    sample.Reading
	first   sample.Reading // from which time counts
	started bool
	used    int64 // CPU and queue time since then, ns

	open    Span // the sleeping stack that goes on, if isOpen
	isOpen  bool
	openRan bool // the thread ran while the span was open

	carryCPU, carryRunq int64
	carrySince          int64
	carryBlocked        int64
	blockedDebt         int64
	met                 bool // a look was booked; one whose samples have not come yet runs unmet
	lastRun             Seen
	lastOn              Seen // at the last look that found it on a processor, at lastOnAt
	lastOnAt            int64
	alike               alike

	// A thread that was stopped by a look and not scheduled since stays queued
	// where it was: for how long, and at how many ticks it was found so.
	queuedFor, queuedTicks int64
}

// Begin sets the reading from which time counts, for a thread whose birth was
// seen; other threads begin at their first look.
func (c *Clock) Begin(r sample.Reading) { c.last, c.first, c.started = r, r, true }

// Look books the time since the last look.
//
// onCPU: the thread was on a processor, so that its CPU time goes to this stack. A
// thread that sleeps can have been: in the kernel, on its way to sleep in this call.
func (c *Clock) Look(r sample.Reading, s Seen, onCPU bool, emit func(Span)) {
	c.lookUpTo(math.MaxInt64, r, s, onCPU, emit)
}

// lookUpTo is Look that books at most so much processor time under the stack. It gives how much that was, and the rest.
// That is the caller's to book.
func (c *Clock) lookUpTo(most int64, r sample.Reading, s Seen, onCPU bool, emit func(Span)) (got, rest int64) {
	if onCPU {
		c.share(emit)
	}
	cpu, runq, blocked := c.begin(r, emit)
	if s.State == sample.Running {
		return c.lookRunning(most, r, s, onCPU, cpu, runq, blocked, emit)
	}
	ran := cpu+runq > 0
	if onCPU {
		got, rest = c.take(cpu, most)
		runq += c.carryRunq
		c.carryRunq = 0
		where := s
		where.State, where.Wait, where.WaitsFor, where.Owner = sample.Running, "", "", 0
		emit(Span{Seen: where, End: r.Wall, Wall: got + runq, RunQueue: runq, CPU: got})
		c.lastOn, c.lastOnAt = where, r.Wall
	} else {
		c.carryOver(r, cpu, runq, emit)
	}
	blocked += c.carryBlocked
	c.carryBlocked = 0
	c.sleeps(r, s, ran, blocked, 1, emit)
	c.shareIfDue(r.Wall, true, emit)
	return got, rest
}

// begin begins with a look: it gives what the clocks moved since the last one and is not booked.
func (c *Clock) begin(r sample.Reading, emit func(Span)) (cpu, runq, blocked int64) {
	if !c.started {
		c.Begin(r)
	}
	c.met = true
	from := c.last.Wall
	cpu, runq, blocked = c.advance(r)
	return cpu, runq - c.bookQueued(from, runq, emit), blocked
}

// take gives what a look on a processor gets of the time since the last one, and the rest.
func (c *Clock) take(cpu, most int64) (got, rest int64) {
	cpu += c.carryCPU
	c.carryCPU = 0
	return min(cpu, most), max(cpu-most, 0)
}

// sleeps books blocked time under a stack that slept at the end of an interval, and was seen so often.
func (c *Clock) sleeps(r sample.Reading, s Seen, ran bool, blocked, samples int64, emit func(Span)) {
	if c.isOpen && c.open.Seen == s && (!ran && !c.openRan || c.open.Wall+blocked < mergeLimit) {
		c.open.Samples += samples
		c.open.Wall += blocked
		c.open.End = r.Wall
		c.openRan = c.openRan || ran
		return
	}
	c.close(emit)
	c.open = Span{Seen: s, End: r.Wall, Samples: samples, Wall: blocked}
	c.isOpen, c.openRan = true, false
}

// SleptAgain is [Clock.Look] for several looks in a row, of which the last one was at r. All have found the thread
// asleep as the look before them did. Precondition: that one found it asleep.
func (c *Clock) SleptAgain(r sample.Reading, looks int64, emit func(Span)) {
	if !c.isOpen {
		return // the next look books it
	}
	cpu, runq, blocked := c.advance(r)
	c.carryOver(r, cpu, runq, emit)
	c.sleeps(r, c.open.Seen, cpu+runq > 0, blocked, looks, emit)
	c.shareIfDue(r.Wall, true, emit)
}

// lookRunning books an interval at whose end the thread was running. It gives what of the processor time the stack got,
// and the rest.
func (c *Clock) lookRunning(
	most int64, r sample.Reading, s Seen, onCPU bool, cpu, runq, blocked int64, emit func(Span),
) (got, rest int64) {
	c.wakes(r, cpu, runq, blocked, emit)
	if onCPU {
		got, rest = c.take(cpu, most)
		c.lastOn, c.lastOnAt = s, r.Wall
	} else {
		c.carryOver(r, cpu, 0, emit)
	}
	runq += c.carryRunq
	c.carryRunq = 0
	emit(Span{Seen: s, End: r.Wall, Samples: 1, Wall: got + runq, RunQueue: runq, CPU: got})
	c.lastRun = s
	return got, rest
}

// wakes books the blocked time of an interval at whose end the thread was running.
func (c *Clock) wakes(r sample.Reading, cpu, runq, blocked int64, emit func(Span)) {
	if c.isOpen {
		// What the kernel books late, at the arrival on a processor, the sleep has had too much:
		// the thread was queued already when it was last found unchanged.
		late := min(-c.blockedDebt, c.open.Wall)
		c.blockedDebt += late
		c.open.Wall += blocked - late
		c.open.End = r.Wall - cpu - runq
		c.close(emit)
	} else {
		c.carryBlocked += blocked
		late := min(-c.blockedDebt, c.carryBlocked)
		c.blockedDebt += late
		c.carryBlocked -= late
	}
}

// bookQueued books the time that the thread stayed queued after its last look
// under the stack that it had then, and gives that time.
func (c *Clock) bookQueued(from, runq int64, emit func(Span)) int64 {
	if c.queuedTicks == 0 {
		return 0
	}
	q := min(runq, c.queuedFor)
	if c.met {
		emit(Span{Seen: c.lastRun, End: from + q, Samples: c.queuedTicks, Wall: q, RunQueue: q})
	} else if q > 0 {
		emit(Span{Seen: Seen{State: sample.Running}, Leaf: NotObserved, End: from + q, Wall: q, RunQueue: q})
	}
	c.queuedFor, c.queuedTicks = 0, 0
	return q
}

// moved gives by how much processor and queue time have moved since the last look.
func (c *Clock) moved(r sample.Reading) (cpu, runq int64) {
	cpu = max(r.CPU-c.last.CPU, 0)
	// The kernel books queue time when the thread arrives on a processor. Of a thread that was queued when its time
	// began to count, that from before is not the recording's.
	return cpu, min(max(r.RunQueue-c.last.RunQueue, 0), max(r.Wall-c.first.Wall-c.used-cpu, 0))
}

// advance gives what the clocks moved since the last look.
func (c *Clock) advance(r sample.Reading) (cpu, runq, blocked int64) {
	cpu, runq = c.moved(r)
	c.used += cpu + runq
	blocked = r.Wall - c.last.Wall - cpu - runq + c.blockedDebt
	c.blockedDebt = min(blocked, 0)
	c.last = r
	return cpu, runq, max(blocked, 0)
}

// carryOver keeps unobserved time for the next running look, and books it where the
// thread slept when it has waited too long.
func (c *Clock) carryOver(r sample.Reading, cpu, runq int64, emit func(Span)) {
	if c.carryCPU+c.carryRunq > 0 && r.Wall-c.carrySince > carryLimit {
		c.bookCarried(r.Wall, emit)
	}
	if cpu+runq > 0 {
		if c.carryCPU+c.carryRunq == 0 {
			c.carrySince = r.Wall
		}
		c.carryCPU += cpu
		c.carryRunq += runq
	}
}

// bookCarried books carried time under the stack where the thread sleeps, or where it was last seen running. Of a
// thread that was never seen anywhere it is not observed.
func (c *Clock) bookCarried(now int64, emit func(Span)) {
	if c.carryCPU+c.carryRunq > 0 {
		where := c.lastRun
		if c.isOpen {
			where = c.open.Seen
		}
		where.State, where.Wait, where.WaitsFor, where.Owner = sample.Running, "", "", 0
		emit(Span{Seen: where, Leaf: c.between(RanBetweenTicks), End: now,
			Wall: c.carryCPU + c.carryRunq, RunQueue: c.carryRunq, CPU: c.carryCPU})
	}
	c.carryCPU, c.carryRunq = 0, 0
	if c.carryBlocked > 0 && !c.isOpen {
		where := c.lastRun
		where.State = sample.Sleeping
		emit(Span{Seen: where, Leaf: c.between(BlockedBetweenTicks), End: now, Wall: c.carryBlocked})
		c.carryBlocked = 0
	}
}

// between gives the synthetic frame of carried time: there is no stack to put it inside of before the first look.
func (c *Clock) between(leaf string) string {
	if !c.met {
		return NotObserved
	}
	return leaf
}

// Unchanged extends the open span to a moment at which the thread was found
// unchanged, for a checkpoint or the thread's end.
func (c *Clock) Unchanged(r sample.Reading, reuses int64) {
	if reuses == 0 {
		return
	}
	if !c.isOpen {
		c.queuedFor = r.Wall - c.last.Wall
		c.queuedTicks += reuses
		return
	}
	_, _, blocked := c.advance(r)
	c.open.Samples += reuses
	c.open.Wall += blocked
	c.open.End = r.Wall
}

// Cut books what the open span holds so far and goes on with an empty one, for a
// checkpoint.
func (c *Clock) Cut(emit func(Span)) {
	c.share(emit)
	if c.isOpen && (c.open.Samples > 0 || c.open.Wall > 0) {
		emit(c.open)
		c.open.Samples, c.open.Wall = 0, 0
	}
}

// Open gives the span that goes on, as far as it has come, and leaves it as it is.
func (c *Clock) Open(emit func(Span)) {
	c.divide(emit)
	if c.isOpen && (c.open.Samples > 0 || c.open.Wall > 0) {
		emit(c.open)
	}
}

// close ends the open span.
func (c *Clock) close(emit func(Span)) {
	if c.isOpen && (c.open.Samples > 0 || c.open.Wall > 0) {
		emit(c.open)
	}
	c.isOpen = false
}

// Finish books everything that is left, at the thread's or the recording's end. No look will come that carried CPU
// time could go to. It goes to the last one that found the thread on a processor, if that was less than carryLimit
// ago.
func (c *Clock) Finish(emit func(Span)) {
	c.shareAll(emit)
	if c.carryCPU > 0 && c.lastOnAt > 0 && c.last.Wall-c.lastOnAt < carryLimit {
		emit(Span{Seen: c.lastOn, End: c.last.Wall, Wall: c.carryCPU, CPU: c.carryCPU})
		c.carryCPU = 0
	}
	c.bookQueued(c.last.Wall, 0, emit)
	c.bookCarried(c.last.Wall, emit)
	c.close(emit)
}
