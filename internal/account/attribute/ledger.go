// SPDX-License-Identifier: Apache-2.0

package attribute

import (
	"math"

	"prywalk/internal/base/sample"
)

// Ledger divides a thread's time into spans. Invariants: the sums of CPU, run queue and blocked time are the kernel's,
// and CPU + run queue + blocked = wall. Spans overlap where one takes carried time; reading a recording separates them
// (separate in package profile).
//
// Of the stacks at both ends of an interval, CPU and run queue time go to the later one: CPU time if it is on a CPU,
// run queue time also if it is queued. Blocked time goes to the one that sleeps, the later one first.
//
// Time that fits no stack yet is carried:
//
//   - CPU time to the next sample on a CPU, run queue time to the next running one. If none comes within carryLimit,
//     the next changed sample off the CPU gives both to [NotObserved] if a stop was refused meanwhile, else to
//     [RanBetweenTicks], below the stack of the open sleep, or without one below the stack last found running.
//     Run queue time of minQueued or more ends when it passed, and so does all time after the last sample. Other
//     carried time ends at the mean of the times at which it became known. At a checkpoint (cut), carried time moves
//     into the part of the recording that begins there;
//   - blocked time to the next sample asleep, or at the end to [BlockedBetweenTicks].
//
// Time in the kernel that samples of user space leave out is held apart ([kernelTime]).
type Ledger struct {
	Emit func(Span)

	clocks  threadClocks
	carried carriedTimes
	sleep   sleepSpan
	queued  provenQueue    // since the last sample
	pending pendingSamples // kernel samples, not emitted yet
	kernel  kernelTime

	started   bool
	hasSample bool

	lastRunning Place // found running
	lastOnCPU   Place
	lastOnCPUAt int64 // CLOCK_MONOTONIC ns; 0: none
}

// provenQueue is the time in which a thread, found running, was unchanged: it waits for a CPU.
type provenQueue struct {
	length int64 // ns
	ticks  int64
}

// Begin sets the reading from which time counts.
func (l *Ledger) Begin(r sample.Reading) {
	l.clocks.first, l.clocks.last = r, r
	l.started = true
}

// # Samples

// Observe attributes the time since the last reading. onCPU: the thread was on a CPU when the tick was due.
func (l *Ledger) Observe(now sample.Reading, place Place, onCPU bool) {
	l.attributeSample(now, place, onCPU, math.MaxInt64)
}

// attributeSample is Observe for at most maxCPU ns of CPU time. It returns the CPU time that it attributed, and the
// excess over maxCPU, which the caller attributes.
func (l *Ledger) attributeSample(now sample.Reading, place Place, onCPU bool, maxCPU int64) (
	attributed, excess int64,
) {
	if onCPU {
		l.attributePending()
	}
	t := l.beginInterval(now)
	if place.State == sample.Running {
		return l.observeRunning(now, place, onCPU, t, maxCPU)
	}
	l.carryBeforeSleep(now, t)
	l.sleep.observe(now.Wall, place, t.cpuAndQueue() > 0, t.blocked+take(&l.carried.times.blocked), l.Emit)
	l.attributePendingIfDue(now.Wall, true)
	return 0, 0
}

// carryBeforeSleep carries the CPU and run queue time before a sleep. Run queue time of minQueued or more ends the open
// sleep, and is a part with its own end.
func (l *Ledger) carryBeforeSleep(now sample.Reading, t times) {
	l.attributeOverdue(now)
	if t.runQueue < minQueued || len(l.carried.parts) >= maxParts {
		l.carried.add(t.cpu, t.runQueue, now.Wall)
		return
	}
	if l.sleep.open {
		paid := l.clocks.payDebt(l.sleep.span.Wall)
		l.sleep.span.Wall, l.sleep.span.End = l.sleep.span.Wall-paid, l.sleep.span.End-paid
		l.sleep.close(l.Emit)
	}
	l.carried.add(t.cpu, 0, now.Wall)
	l.carried.addPart(0, t.runQueue, now.Wall-t.blocked)
}

func (l *Ledger) observeRunning(now sample.Reading, place Place, onCPU bool, t times, maxCPU int64) (
	attributed, excess int64,
) {
	l.endSleep(now, t)
	if onCPU {
		attributed, excess = l.splitCPU(t.cpu, maxCPU)
		l.lastOnCPU, l.lastOnCPUAt = place, now.Wall
	} else {
		l.carryOver(now, t.cpu, 0)
	}
	l.emitParts(Span{Place: place})
	runQueue := t.runQueue + take(&l.carried.times.runQueue)
	l.Emit(Span{
		Place: place, End: now.Wall, Samples: 1, Wall: attributed + runQueue, RunQueue: runQueue, CPU: attributed,
	})
	l.lastRunning = place
	return attributed, excess
}

func (l *Ledger) beginInterval(now sample.Reading) times {
	if !l.started {
		l.Begin(now)
	}
	l.hasSample = true
	t := l.advancePastQueue(now)
	t.cpu = l.kernel.hold(t.cpu, now.Wall)
	return t
}

func (l *Ledger) splitCPU(cpu, maxCPU int64) (attributed, excess int64) {
	cpu += l.carried.takeCPU()
	return min(cpu, maxCPU), max(cpu-maxCPU, 0)
}

func (l *Ledger) endSleep(now sample.Reading, t times) {
	if l.sleep.open {
		// Queue time is charged late, as blocked time until then.
		l.sleep.span.Wall += t.blocked - l.clocks.payDebt(l.sleep.span.Wall)
		l.sleep.span.End = now.Wall - t.cpuAndQueue()
		l.sleep.close(l.Emit)
	} else {
		l.carried.times.blocked += t.blocked
		l.carried.times.blocked -= l.clocks.payDebt(l.carried.times.blocked)
	}
}

// # Unchanged ticks

// ExtendUnchanged extends the sleep, or the proven queue time, to the last unchanged tick.
func (l *Ledger) ExtendUnchanged(last sample.Reading, unchangedTicks int64) {
	if unchangedTicks == 0 {
		return
	}
	if !l.sleep.open {
		l.queued.length = last.Wall - l.clocks.last.Wall
		l.queued.ticks += unchangedTicks
		return
	}
	t := l.clocks.advance(last)
	l.sleep.span.Samples += unchangedTicks
	if t.cpuAndQueue() > 0 { // of another thread with the same run count, which has called exec since
		l.carryOver(last, t.cpu, t.runQueue)
	}
	l.addBlocked(t.blocked, last.Wall)
	l.attributePendingIfDue(last.Wall, true)
}

// KnownUntil returns until when the thread's place is known, CLOCK_MONOTONIC ns.
func (l *Ledger) KnownUntil() int64 { return l.clocks.last.Wall + l.queued.length }

func (l *Ledger) advancePastQueue(now sample.Reading) times {
	from := l.clocks.last.Wall
	t := l.clocks.advance(now)
	t.runQueue -= l.attributeQueued(from, t.runQueue)
	return t
}

// attributeQueued emits at most runQueue ns of proven queue time, which begins at from.
func (l *Ledger) attributeQueued(from, runQueue int64) int64 {
	proven := l.queued
	if proven.ticks == 0 {
		return 0
	}
	l.queued = provenQueue{}
	ns := min(runQueue, proven.length)
	if l.hasSample {
		l.Emit(Span{Place: l.lastRunning, End: from + ns, Samples: proven.ticks, Wall: ns, RunQueue: ns})
	} else if ns > 0 {
		l.Emit(Span{Place: Place{State: sample.Running}, Leaf: NotObserved, End: from + ns, Wall: ns, RunQueue: ns})
	}
	return ns
}

func (l *Ledger) addBlocked(ns, now int64) {
	if l.sleep.open {
		l.sleep.span.Wall += ns
		l.sleep.span.End = now
	} else {
		l.carried.times.blocked += ns
	}
}

// # Carried time

func (l *Ledger) carryOver(now sample.Reading, cpu, runQueue int64) {
	l.attributeOverdue(now)
	l.carried.add(cpu, runQueue, now.Wall)
}

func (l *Ledger) attributeOverdue(now sample.Reading) {
	if l.carried.isOverdue(now.Wall) {
		l.attributeCarried(now.Wall)
	}
}

// AttributeOverdue attributes a sleeping thread's overdue time.
func (l *Ledger) AttributeOverdue() {
	now := l.clocks.last.Wall
	if l.sleep.open && l.carried.isOverdue(now) {
		l.attributeCarried(now)
	}
	l.settleOverdueKernelTime(now)
}

func (l *Ledger) attributeCarried(now int64) {
	if l.carried.ran() > 0 {
		s := Span{Place: l.lastRunning.asRunning(), Leaf: l.syntheticFrame(RanBetweenTicks), End: min(l.carried.until, now)}
		switch {
		case l.carried.stopRefused:
			s.Place, s.Leaf = Place{State: sample.Running}, NotObserved
		case l.sleep.open:
			s.Place = l.sleep.span.asRunning()
			if l.kernel.found && l.lastOnCPUAt == 0 { // no sample showed it in user space
				s.Leaf = ""
			}
		}
		l.emitParts(s)
		s.CPU, s.RunQueue = l.carried.takeCPU(), take(&l.carried.times.runQueue)
		if s.Wall = s.CPU + s.RunQueue; s.Wall > 0 {
			l.Emit(s)
		}
	}
	if l.carried.times.blocked > 0 && !l.sleep.open {
		place := l.lastRunning
		place.State = sample.Sleeping
		leaf := l.syntheticFrame(BlockedBetweenTicks)
		l.Emit(Span{Place: place, Leaf: leaf, End: now, Wall: take(&l.carried.times.blocked)})
	}
}

// emitParts emits the carried parts that have their own ends, in the place of s.
func (l *Ledger) emitParts(s Span) {
	for _, p := range l.carried.parts {
		if s.End, s.Wall, s.RunQueue, s.CPU = p.end, p.cpu+p.runQueue, p.runQueue, p.cpu; s.Wall > 0 {
			l.Emit(s)
		}
	}
	l.carried.parts = l.carried.parts[:0]
}

func (l *Ledger) syntheticFrame(leaf string) string {
	if !l.hasSample {
		return NotObserved
	}
	return leaf
}

// # Time without samples

// MarkNotObserved attributes length ns of the time up to now, with their part of CPU and run queue time, as not
// observed, except proven sleep and queue time. state is the thread's now.
func (l *Ledger) MarkNotObserved(length int64, now sample.Reading, state sample.State) {
	t := l.clocks.growth(now)
	if sleeps := l.sleep.open && state != sample.Running; sleeps && t.cpuAndQueue() == 0 {
		return
	}
	queued := l.attributeQueued(l.clocks.last.Wall, t.runQueue) // before the gap
	t.runQueue -= queued
	l.clocks.advanceBy(queued, times{runQueue: queued})
	whole := now.Wall - l.clocks.last.Wall
	length = min(length, whole)
	if length <= 0 {
		return
	}
	t = t.within(length, whole)
	l.Flush()
	l.sleep.cut = 0
	l.clocks.advanceBy(length, t)
	end, ran := l.clocks.last.Wall, t.cpuAndQueue()
	if ran < length {
		l.Emit(Span{Place: Place{State: sample.Sleeping}, Leaf: NotObserved, End: end - ran, Wall: length - ran})
	}
	if ran > 0 {
		l.Emit(Span{Place: Place{State: sample.Running}, Leaf: NotObserved, End: end, Wall: ran, RunQueue: t.runQueue,
			CPU: t.cpu})
	}
}

// AttributeNotStopped attributes time without stops up to now. inCall: in the last sample's call.
func (l *Ledger) AttributeNotStopped(now sample.Reading, inCall bool) {
	if !l.started || now.Wall <= l.clocks.last.Wall {
		return
	}
	t := l.advancePastQueue(now)
	l.addBlocked(t.blocked, now.Wall)
	l.sleep.active = true
	if t.cpuAndQueue() > 0 {
		l.sleep.cut = 0
	}
	if inCall && !l.sleep.open {
		l.Emit(Span{Place: l.lastRunning, End: now.Wall, Wall: t.cpuAndQueue(), RunQueue: t.runQueue, CPU: t.cpu})
		return
	}
	l.carried.add(t.cpu, t.runQueue, now.Wall)
	l.attributeCarried(now.Wall)
}

// EndWithoutSample takes the clocks at the thread's end. The rest is carried if it is at most gapThreshold ns, else not
// observed.
func (l *Ledger) EndWithoutSample(end sample.Reading, gapThreshold int64) {
	if since := end.Wall - l.KnownUntil(); since > gapThreshold {
		l.MarkNotObserved(since, end, sample.Running)
	}
	t := l.advancePastQueue(end)
	l.carried.addPart(t.cpu, t.runQueue, end.Wall)
	l.addBlocked(t.blocked, end.Wall-t.cpuAndQueue()) // the thread has run after the sleep
}

// # Open time

// Flush emits the pending samples, the time in the kernel and the sleep so far.
func (l *Ledger) Flush() {
	l.attributePending()
	l.settleKernelTime(l.clocks.last.Wall)
	l.sleep.emitSoFar(l.Emit)
	l.sleep.cut += l.sleep.span.Wall
	l.sleep.span.Samples, l.sleep.span.Wall = 0, 0
}

// EmitOpen emits the same as Flush, with [Span].Before, also a sleep that has no time since a cut; it changes nothing.
func (l *Ledger) EmitOpen(emit func(Span)) {
	l.emitPending(emit)
	l.emitHeldSoFar(emit)
	sleep := l.sleep
	sleep.span.Before = sleep.cut
	if sleep.open && (sleep.span.Samples > 0 || sleep.span.Wall+sleep.span.Before > 0) {
		emit(sleep.span)
	}
}

// Finish attributes the rest, carried CPU time to the last on-CPU sample if younger than carryLimit.
func (l *Ledger) Finish() {
	now := l.clocks.last.Wall
	l.attributePendingAndCarried()
	if l.lastOnCPUAt > 0 && now-l.lastOnCPUAt < carryLimit {
		if l.carried.times.cpu > 0 {
			cpu := l.carried.takeCPU()
			l.Emit(Span{Place: l.lastOnCPU, End: min(l.carried.until, now), Wall: cpu, CPU: cpu})
		}
		for i := range l.carried.parts {
			p := &l.carried.parts[i]
			if cpu := take(&p.cpu); cpu > 0 {
				l.Emit(Span{Place: l.lastOnCPU, End: p.end, Wall: cpu, CPU: cpu})
			}
		}
	}
	l.attributeQueued(now, 0)
	l.attributeCarried(now)
	l.settleKernelTime(now)
	l.sleep.close(l.Emit)
}
