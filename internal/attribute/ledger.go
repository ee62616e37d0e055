// SPDX-License-Identifier: Apache-2.0

package attribute

import (
	"math"

	"prywalk/internal/sample"
)

// Ledger divides a thread's time into spans. Invariants: the sums of CPU, run queue and blocked time are the
// kernel's, and CPU + run queue + blocked = wall.
//
// Between two samples:
//
//   - CPU time goes to the stack at the end, if on a processor.
//   - Run queue time goes there too, also to a queued stack (CPU time would favour blocking calls).
//   - Blocked time goes to the stack that sleeps at the end, else at the beginning.
//
// The rest is carried. CPU and run queue time go to the next on-CPU sample, as a thread that runs in bursts mostly does
// the same in the next; a changed sample asleep more than carryLimit later puts them under [RanBetweenTicks] of the
// current stack, or to [NotObserved] if a stop was refused meanwhile. Blocked time goes to a sample asleep, or at the
// end under [BlockedBetweenTicks]. Negative blocked time (the kernel charges late) is subtracted from the next.
type Ledger struct {
	last          sample.Reading // end of the attributed or carried time
	first         sample.Reading
	started       bool
	ranSinceFirst int64 // CPU and run queue time since first, ns

	open      Span // the current sleep, if isOpen
	isOpen    bool
	ranInOpen bool // during open

	carried      times // to the next sample
	carriedSince int64 // of CPU and run queue time, CLOCK_MONOTONIC ns
	stopRefused  bool  // while it ran, since carriedSince ([sample.NotStopped])
	blockedDebt  int64 // negative blocked time to subtract, ns
	hasSample    bool
	lastRunning  Place // last sample found running
	lastOnCPU    Place // last on-CPU sample, at lastOnCPUAt
	lastOnCPUAt  int64
	pending      pendingSamples

	// queuedFor is the time queued in the same place since the last stop, ns; queuedTicks the ticks in it.
	queuedFor, queuedTicks int64
}

// carryLimit is how long CPU time waits for an on-CPU sample, ns. At 1 s and 99 ticks/s, a seventh of a thread on CPU
// for 2 % of the time would be not observed; at 5 s almost none.
const carryLimit = 5e9

// mergeLimit bounds a span of sleep in one place with runs in it, ns.
const mergeLimit = 1e9

// Begin sets the reading from which time counts.
func (l *Ledger) Begin(r sample.Reading) { l.last, l.first, l.started = r, r, true }

// Observe attributes the time since the last sample. onCPU: the thread was on a CPU at the sample, so that this stack
// takes the interval's CPU time; also set for a sleeper that was running in the call in which it now sleeps.
func (l *Ledger) Observe(r sample.Reading, s Place, onCPU bool, emit func(Span)) {
	l.observeUpTo(math.MaxInt64, r, s, onCPU, emit)
}

// observeUpTo is Observe for at most most ns of CPU time. It returns that and the rest, which the caller attributes.
func (l *Ledger) observeUpTo(most int64, r sample.Reading, s Place, onCPU bool, emit func(Span)) (got, rest int64) {
	if onCPU {
		l.attributePending(emit)
	}
	t := l.beginInterval(r, emit)
	if s.State == sample.Running {
		return l.observeRunning(most, r, s, onCPU, t, emit)
	}
	ran := t.ran() > 0
	if onCPU {
		got, rest = l.splitCPU(t.cpu, most)
		runQueue := t.runQueue + l.takeCarriedRunQueue()
		where := s.asRunning()
		emit(Span{Place: where, End: r.Wall, Wall: got + runQueue, RunQueue: runQueue, CPU: got})
		l.lastOnCPU, l.lastOnCPUAt = where, r.Wall
	} else {
		l.carryOver(r, t.cpu, t.runQueue, emit)
	}
	blocked := t.blocked + l.carried.blocked
	l.carried.blocked = 0
	l.addSleep(r, s, ran, blocked, 1, emit)
	l.attributePendingIfDue(r.Wall, true, emit)
	return got, rest
}

func (l *Ledger) beginInterval(r sample.Reading, emit func(Span)) times {
	if !l.started {
		l.Begin(r)
	}
	l.hasSample = true
	return l.advancePastQueue(r, emit)
}

func (l *Ledger) splitCPU(cpu, most int64) (got, rest int64) {
	cpu += l.takeCarriedCPU()
	return min(cpu, most), max(cpu-most, 0)
}

func (l *Ledger) takeCarriedCPU() int64 {
	cpu := l.carried.cpu
	l.carried.cpu, l.stopRefused = 0, false
	return cpu
}

func (l *Ledger) takeCarriedRunQueue() int64 {
	runQueue := l.carried.runQueue
	l.carried.runQueue = 0
	return runQueue
}

func (l *Ledger) addSleep(r sample.Reading, s Place, ran bool, blocked, samples int64, emit func(Span)) {
	if l.isOpen && l.open.Place == s && (!ran && !l.ranInOpen || l.open.Wall+blocked < mergeLimit) {
		l.open.Samples += samples
		l.open.Wall += blocked
		l.open.End = r.Wall
		l.ranInOpen = l.ranInOpen || ran
		return
	}
	l.close(emit)
	l.open = Span{Place: s, End: r.Wall, Samples: samples, Wall: blocked}
	l.isOpen, l.ranInOpen = true, false
}

func (l *Ledger) observeRunning(
	most int64, r sample.Reading, s Place, onCPU bool, t times, emit func(Span),
) (got, rest int64) {
	l.endSleep(r, t, emit)
	if onCPU {
		got, rest = l.splitCPU(t.cpu, most)
		l.lastOnCPU, l.lastOnCPUAt = s, r.Wall
	} else {
		l.carryOver(r, t.cpu, 0, emit)
	}
	runQueue := t.runQueue + l.takeCarriedRunQueue()
	emit(Span{Place: s, End: r.Wall, Samples: 1, Wall: got + runQueue, RunQueue: runQueue, CPU: got})
	l.lastRunning = s
	return got, rest
}

func (l *Ledger) endSleep(r sample.Reading, t times, emit func(Span)) {
	if l.isOpen {
		// Queue time is charged late, as blocked time until then.
		late := min(-l.blockedDebt, l.open.Wall)
		l.blockedDebt += late
		l.open.Wall += t.blocked - late
		l.open.End = r.Wall - t.ran()
		l.close(emit)
	} else {
		l.carried.blocked += t.blocked
		late := min(-l.blockedDebt, l.carried.blocked)
		l.blockedDebt += late
		l.carried.blocked -= late
	}
}

// attributeQueued emits and returns the queue time that unchanged ticks prove, at most runQueue.
func (l *Ledger) attributeQueued(from, runQueue int64, emit func(Span)) int64 {
	if l.queuedTicks == 0 {
		return 0
	}
	q := min(runQueue, l.queuedFor)
	if l.hasSample {
		emit(Span{Place: l.lastRunning, End: from + q, Samples: l.queuedTicks, Wall: q, RunQueue: q})
	} else if q > 0 {
		emit(Span{Place: Place{State: sample.Running}, Leaf: NotObserved, End: from + q, Wall: q, RunQueue: q})
	}
	l.queuedFor, l.queuedTicks = 0, 0
	return q
}

func (l *Ledger) growth(r sample.Reading) (t times) {
	t.cpu = max(r.CPU-l.last.CPU, 0)
	// Queue time is charged at its end: part may lie before first.
	t.runQueue = min(max(r.RunQueue-l.last.RunQueue, 0), max(r.Wall-l.first.Wall-l.ranSinceFirst-t.cpu, 0))
	return t
}

func (l *Ledger) advance(r sample.Reading) times {
	t := l.growth(r)
	l.ranSinceFirst += t.ran()
	blocked := r.Wall - l.last.Wall - t.ran() + l.blockedDebt
	l.blockedDebt, t.blocked = min(blocked, 0), max(blocked, 0)
	l.last = r
	return t
}

// advancePastQueue emits the queue time that unchanged ticks prove, and returns the rest of the growth up to r.
func (l *Ledger) advancePastQueue(r sample.Reading, emit func(Span)) times {
	from := l.last.Wall
	t := l.advance(r)
	proven := l.attributeQueued(from, t.runQueue, emit)
	t.runQueue -= proven
	return t
}

func (l *Ledger) carryOver(r sample.Reading, cpu, runQueue int64, emit func(Span)) {
	if l.carried.ran() > 0 && r.Wall-l.carriedSince > carryLimit {
		l.attributeCarried(r.Wall, emit)
	}
	if cpu+runQueue > 0 {
		if l.carried.ran() == 0 {
			l.carriedSince = r.Wall
		}
		l.carried.cpu += cpu
		l.carried.runQueue += runQueue
	}
}

// Settle attributes a sleeping thread's time that is carried for longer than carryLimit.
func (l *Ledger) Settle(emit func(Span)) {
	if l.isOpen && l.carried.ran() > 0 && l.last.Wall-l.carriedSince > carryLimit {
		l.attributeCarried(l.last.Wall, emit)
	}
}

func (l *Ledger) attributeCarried(now int64, emit func(Span)) {
	if ran := l.carried.ran(); ran > 0 {
		s := Span{Place: l.lastRunning.asRunning(), Leaf: l.syntheticFrame(RanBetweenTicks)}
		switch {
		case l.stopRefused:
			s.Place, s.Leaf = Place{State: sample.Running}, NotObserved
		case l.isOpen:
			s.Place = l.open.asRunning()
		}
		s.CPU = l.takeCarriedCPU() // it also clears stopRefused, which has chosen the frame above
		s.RunQueue = l.takeCarriedRunQueue()
		s.End, s.Wall = now, ran
		emit(s)
	}
	if l.carried.blocked > 0 && !l.isOpen {
		where := l.lastRunning
		where.State = sample.Sleeping
		emit(Span{Place: where, Leaf: l.syntheticFrame(BlockedBetweenTicks), End: now, Wall: l.carried.blocked})
		l.carried.blocked = 0
	}
}

func (l *Ledger) syntheticFrame(leaf string) string {
	if !l.hasSample {
		return NotObserved
	}
	return leaf
}

// ExtendUnchanged extends the open span to r, the last of reuses ticks at which the thread was unchanged.
func (l *Ledger) ExtendUnchanged(r sample.Reading, reuses int64, emit func(Span)) {
	if reuses == 0 {
		return
	}
	if !l.isOpen {
		l.queuedFor = r.Wall - l.last.Wall
		l.queuedTicks += reuses
		return
	}
	t := l.advance(r)
	l.open.Samples += reuses
	if t.ran() > 0 { // of another thread with the same run count, which has called exec since
		l.carryOver(r, t.cpu, t.runQueue, emit)
	}
	l.open.Wall += t.blocked
	l.open.End = r.Wall
	l.attributePendingIfDue(r.Wall, true, emit)
}

// Cut emits the open span and begins an empty one.
func (l *Ledger) Cut(emit func(Span)) {
	l.attributePending(emit)
	if l.isOpen && (l.open.Samples > 0 || l.open.Wall > 0) {
		emit(l.open)
		l.open.Samples, l.open.Wall = 0, 0
	}
}

// Open emits the open span so far.
func (l *Ledger) Open(emit func(Span)) {
	l.emitPending(emit)
	if l.isOpen && (l.open.Samples > 0 || l.open.Wall > 0) {
		emit(l.open)
	}
}

func (l *Ledger) close(emit func(Span)) {
	if l.isOpen && (l.open.Samples > 0 || l.open.Wall > 0) {
		emit(l.open)
	}
	l.isOpen = false
}

// Finish attributes the rest: to the last on-CPU sample if that is younger than carryLimit.
func (l *Ledger) Finish(emit func(Span)) {
	l.attributePendingAndCarried(emit)
	if l.carried.cpu > 0 && l.lastOnCPUAt > 0 && l.last.Wall-l.lastOnCPUAt < carryLimit {
		cpu := l.takeCarriedCPU()
		emit(Span{Place: l.lastOnCPU, End: l.last.Wall, Wall: cpu, CPU: cpu})
	}
	l.attributeQueued(l.last.Wall, 0, emit)
	l.attributeCarried(l.last.Wall, emit)
	l.close(emit)
}

// KnownUntil returns until when the thread's place is known, CLOCK_MONOTONIC ns.
func (l *Ledger) KnownUntil() int64 { return l.last.Wall + l.queuedFor }

// MarkNotObserved attributes length ns of the time up to r, with their part of CPU and run queue time, as not observed,
// except proven sleep and queue time.
func (l *Ledger) MarkNotObserved(length int64, r sample.Reading, state sample.State, emit func(Span)) {
	t := l.growth(r)
	if l.isOpen && state != sample.Running && t.cpu == 0 && t.runQueue == 0 {
		return
	}
	queued := l.attributeQueued(l.last.Wall, t.runQueue, emit)
	t.runQueue -= queued
	l.advanceBy(queued, times{runQueue: queued})
	whole := r.Wall - l.last.Wall
	length = min(length, whole)
	if length <= 0 {
		return
	}
	t = t.within(length, whole)
	l.Cut(emit)
	l.advanceBy(length, t)
	end, ran := l.last.Wall, t.ran()
	if ran < length {
		emit(Span{Place: Place{State: sample.Sleeping}, Leaf: NotObserved, End: end - ran, Wall: length - ran})
	}
	if ran > 0 {
		emit(Span{Place: Place{State: sample.Running}, Leaf: NotObserved, End: end, Wall: ran, RunQueue: t.runQueue,
			CPU: t.cpu})
	}
}

func (l *Ledger) advanceBy(wall int64, t times) {
	l.ranSinceFirst += t.ran()
	l.last.Wall += wall
	l.last.CPU += t.cpu
	l.last.RunQueue += t.runQueue
}

// EndWithoutSample takes the clocks at the thread's end. The time since the last sample is carried if at most patience
// ns, else not observed.
func (l *Ledger) EndWithoutSample(r sample.Reading, patience int64, emit func(Span)) {
	if alone := r.Wall - l.KnownUntil(); alone > patience {
		l.MarkNotObserved(alone, r, sample.Running, emit)
	}
	t := l.advancePastQueue(r, emit)
	l.carried.cpu += t.cpu
	l.carried.runQueue += t.runQueue
	if l.isOpen {
		l.open.Wall += t.blocked
		l.open.End = r.Wall
	} else {
		l.carried.blocked += t.blocked
	}
}

// AttributeNotStopped attributes the time up to r without stops. inCall: it passed in the last sample's call.
func (l *Ledger) AttributeNotStopped(r sample.Reading, inCall bool, emit func(Span)) {
	if !l.started || r.Wall <= l.last.Wall {
		return
	}
	t := l.advancePastQueue(r, emit)
	if l.isOpen {
		l.open.Wall += t.blocked
		l.open.End, l.ranInOpen = r.Wall, true
	} else {
		l.carried.blocked += t.blocked
	}
	if inCall && !l.isOpen {
		emit(Span{Place: l.lastRunning, End: r.Wall, Wall: t.ran(), RunQueue: t.runQueue, CPU: t.cpu})
		return
	}
	l.carried.cpu += t.cpu
	l.carried.runQueue += t.runQueue
	l.attributeCarried(r.Wall, emit)
}
