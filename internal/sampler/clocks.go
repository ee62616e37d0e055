package sampler

import "prywalk/internal/profile"

// carryLimit is how long CPU time that was not observed waits for the thread's
// next on-CPU look, in nanoseconds. A thread that runs 2 % of the time is met on a
// processor twice a second at 99 ticks: with a limit of one second a seventh of its
// time would be booked as not observed, with five hardly any.
const carryLimit = 5e9

// mergeLimit is how long an interval of a sleeper may grow over ticks between
// which the thread ran, in nanoseconds: beyond it a new one begins, so that a
// recording keeps its resolution in time. An interval in which the thread did not
// run at all has no limit.
const mergeLimit = 1e9

// Reading is what the kernel's clocks say of a thread at one moment, in
// nanoseconds. Wall is CLOCK_MONOTONIC; CPU and RunQueue are the first two fields
// of /proc/PID/task/TID/schedstat.
type Reading struct {
	Wall, CPU, RunQueue int64
}

// seen is what a look saw: where the thread was and in which state.
type seen struct {
	stack profile.StackID
	state State
	wait  string
	whole bool // the stack is complete
}

// slice is a piece of a thread's time, booked under a stack.
type slice struct {
	seen
	leaf                        string // synthetic frame to put inside of the stack, or ""
	end                         int64  // CLOCK_MONOTONIC, ns
	samples, wall, runq, cpuRun int64
}

// threadClock divides a thread's time into slices, so that their CPU, run queue
// and blocked time add up to what the kernel says, and CPU + run queue + blocked
// to wall time.
//
// Between two looks lies an interval. Its CPU time goes to the stack at its end if
// the thread is on a processor there, its queue time if it is on one or queued for
// one. A queued thread shows where it was woken, not where it computes: giving it the
// CPU time would favour blocking calls. What is left is carried to the next look that
// may have it, or booked under the stack of the moment with the leaf [ran between
// ticks] after some seconds. Blocked time is what is left of wall time; it goes to the
// stack that sleeps at the end, else to the one that slept at the beginning, else it
// is carried likewise. A residual can come out negative by what the kernel has not
// booked yet; the debt is taken from the next one.
type threadClock struct {
	last    Reading
	first   Reading // from which time counts
	started bool
	used    int64 // CPU and queue time since then, ns

	open    slice // the sleeping stack that goes on, if isOpen
	isOpen  bool
	openRan bool // the thread ran while the slice was open

	carryCPU, carryRunq int64
	carrySince          int64
	carryBlocked        int64
	blockedDebt         int64
	lastRun             seen
	lastOn              seen // at the last look that found it on a processor, at lastOnAt
	lastOnAt            int64

	// A thread that was stopped by a look and not scheduled since stays queued
	// where it was: for how long, and at how many ticks it was found so.
	queuedFor, queuedTicks int64
}

// begin sets the reading from which time counts, for a thread whose birth was
// seen; other threads begin at their first look.
func (c *threadClock) begin(r Reading) { c.last, c.first, c.started = r, r, true }

// look books the time since the last look.
//
// onCPU: the thread was on a processor, so that its CPU time goes to this stack. A
// thread that sleeps can have been: in the kernel, on its way to sleep in this call.
func (c *threadClock) look(r Reading, s seen, onCPU bool, emit func(slice)) {
	if !c.started {
		c.begin(r)
	}
	from := c.last.Wall
	cpu, runq, blocked := c.advance(r)
	runq -= c.bookQueued(from, runq, emit)
	if s.state == Running {
		c.lookRunning(r, s, onCPU, cpu, runq, blocked, emit)
		return
	}
	ran := cpu+runq > 0
	if onCPU {
		cpu, runq = cpu+c.carryCPU, runq+c.carryRunq
		c.carryCPU, c.carryRunq = 0, 0
		where := s
		where.state, where.wait = Running, ""
		emit(slice{seen: where, end: r.Wall, wall: cpu + runq, runq: runq, cpuRun: cpu})
		c.lastOn, c.lastOnAt = where, r.Wall
	} else {
		c.carryOver(r, cpu, runq, emit)
	}
	blocked += c.carryBlocked
	c.carryBlocked = 0
	if c.isOpen && c.open.seen == s && (!ran && !c.openRan || c.open.wall+blocked < mergeLimit) {
		c.open.samples++
		c.open.wall += blocked
		c.open.end = r.Wall
		c.openRan = c.openRan || ran
		return
	}
	c.close(emit)
	c.open = slice{seen: s, end: r.Wall, samples: 1, wall: blocked}
	c.isOpen, c.openRan = true, false
}

// lookRunning books an interval at whose end the thread was running.
func (c *threadClock) lookRunning(r Reading, s seen, onCPU bool, cpu, runq, blocked int64, emit func(slice)) {
	if c.isOpen {
		// What the kernel books late, at the arrival on a processor, the sleep has had too much:
		// the thread was queued already when it was last found unchanged.
		late := min(-c.blockedDebt, c.open.wall)
		c.blockedDebt += late
		c.open.wall += blocked - late
		c.open.end = r.Wall - cpu - runq
		c.close(emit)
	} else {
		c.carryBlocked += blocked
	}
	if onCPU {
		cpu += c.carryCPU
		c.carryCPU = 0
		c.lastOn, c.lastOnAt = s, r.Wall
	} else {
		c.carryOver(r, cpu, 0, emit)
		cpu = 0
	}
	runq += c.carryRunq
	c.carryRunq = 0
	emit(slice{seen: s, end: r.Wall, samples: 1, wall: cpu + runq, runq: runq, cpuRun: cpu})
	c.lastRun = s
}

// bookQueued books the time that the thread stayed queued after its last look
// under the stack that it had then, and gives that time.
func (c *threadClock) bookQueued(from, runq int64, emit func(slice)) int64 {
	if c.queuedTicks == 0 {
		return 0
	}
	q := min(runq, c.queuedFor)
	emit(slice{seen: c.lastRun, end: from + q, samples: c.queuedTicks, wall: q, runq: q})
	c.queuedFor, c.queuedTicks = 0, 0
	return q
}

// moved gives by how much processor and queue time have moved since the last look.
func (c *threadClock) moved(r Reading) (cpu, runq int64) {
	cpu = max(r.CPU-c.last.CPU, 0)
	// The kernel books queue time when the thread arrives on a processor: of a thread that
	// was queued when its time began to count, that from before is not the recording's.
	return cpu, min(max(r.RunQueue-c.last.RunQueue, 0), max(r.Wall-c.first.Wall-c.used-cpu, 0))
}

// advance gives what the clocks moved since the last look.
func (c *threadClock) advance(r Reading) (cpu, runq, blocked int64) {
	cpu, runq = c.moved(r)
	c.used += cpu + runq
	blocked = r.Wall - c.last.Wall - cpu - runq + c.blockedDebt
	c.blockedDebt = min(blocked, 0)
	c.last = r
	return cpu, runq, max(blocked, 0)
}

// carryOver keeps unobserved time for the next running look, and books it where the
// thread slept when it has waited too long.
func (c *threadClock) carryOver(r Reading, cpu, runq int64, emit func(slice)) {
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

// bookCarried books carried time as not observed, under the stack where the
// thread sleeps, or where it was last seen running.
func (c *threadClock) bookCarried(now int64, emit func(slice)) {
	if c.carryCPU+c.carryRunq > 0 {
		where := c.lastRun
		if c.isOpen {
			where = c.open.seen
		}
		where.state, where.wait = Running, ""
		emit(slice{seen: where, leaf: RanBetweenTicks, end: now,
			wall: c.carryCPU + c.carryRunq, runq: c.carryRunq, cpuRun: c.carryCPU})
	}
	c.carryCPU, c.carryRunq = 0, 0
	if c.carryBlocked > 0 && !c.isOpen {
		where := c.lastRun
		where.state = Sleeping
		emit(slice{seen: where, leaf: BlockedBetweenTicks, end: now, wall: c.carryBlocked})
		c.carryBlocked = 0
	}
}

// unchanged extends the open slice to a moment at which the thread was found
// unchanged, for a checkpoint or the thread's end.
func (c *threadClock) unchanged(r Reading, reuses int64) {
	if reuses == 0 {
		return
	}
	if !c.isOpen {
		c.queuedFor = r.Wall - c.last.Wall
		c.queuedTicks += reuses
		return
	}
	_, _, blocked := c.advance(r)
	c.open.samples += reuses
	c.open.wall += blocked
	c.open.end = r.Wall
}

// cut books what the open slice holds so far and goes on with an empty one, for a
// checkpoint.
func (c *threadClock) cut(emit func(slice)) {
	if c.isOpen && (c.open.samples > 0 || c.open.wall > 0) {
		emit(c.open)
		c.open.samples, c.open.wall = 0, 0
	}
}

// close ends the open slice.
func (c *threadClock) close(emit func(slice)) {
	if c.isOpen && (c.open.samples > 0 || c.open.wall > 0) {
		emit(c.open)
	}
	c.isOpen = false
}

// finish books everything that is left, at the thread's or the recording's end. No
// look will come that carried CPU time could go to: it goes to the last one that found
// the thread on a processor, if that was less than carryLimit ago.
func (c *threadClock) finish(emit func(slice)) {
	if c.carryCPU > 0 && c.lastOnAt > 0 && c.last.Wall-c.lastOnAt < carryLimit {
		emit(slice{seen: c.lastOn, end: c.last.Wall, wall: c.carryCPU, cpuRun: c.carryCPU})
		c.carryCPU = 0
	}
	c.bookQueued(c.last.Wall, 0, emit)
	c.bookCarried(c.last.Wall, emit)
	c.close(emit)
}
