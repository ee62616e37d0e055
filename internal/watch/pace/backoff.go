// SPDX-License-Identifier: Apache-2.0

package pace

import (
	"math/rand/v2"
	"slices"

	"prywalk/internal/base/sample"
	"prywalk/internal/host/procmem"
)

// Policy decides which sleepers are backed off. The calls of a tick:
//
//	BeginTick, WakeDue
//	for each thread that is observed: NoteUnchanged, or NoteChanged (also if that fails)
//	NoteObservation     after NoteChanged, once a sample is taken or the clocks are read; a stop may end in a later tick
//	SearchDue, …        see there
//	BeginBackoffs       for each process
//
// NoteObservation charges the CPU time since the last one to the back-off that NoteChanged has ended.
type Policy[T any] struct {
	wheel     timingWheel[T]
	rng       *rand.Rand
	onExpired func(*ThreadState[T]) // the method backoffExpired, bound once

	tick           int64 // number of the present or last tick
	now            int64 // CLOCK_MONOTONIC ns
	period         int64 // mean distance of ticks, ns
	threads        int
	frequentWakers int
}

// NewPolicy returns a policy with random numbers from seed.
func NewPolicy[T any](seed uint64) *Policy[T] {
	p := &Policy[T]{rng: rand.New(rand.NewPCG(seed, 0x6964_6c65))}
	p.onExpired = p.backoffExpired
	return p
}

// BeginTick begins a tick. at is its time, CLOCK_MONOTONIC ns; period the mean distance of ticks, ns.
func (p *Policy[T]) BeginTick(tick, at, period int64) {
	p.tick = tick
	p.now = at
	p.period = period
}

// WakeDue makes threads due whose back-off has ended.
func (p *Policy[T]) WakeDue(threads int) {
	p.threads = threads
	p.wheel.advance(p.now, p.onExpired)
}

// backoffExpired prolongs a back-off if the process's clock has not moved since.
func (p *Policy[T]) backoffExpired(th *ThreadState[T]) {
	proc := th.proc
	if proc.clockKnown && proc.clock == th.clockAtObservation && p.now-th.observedAt < prolongedUpTo-maxBackoff {
		p.wheel.put(th, p.now+randomized(pollingBackoff(p.threads, maxBackoff), p.rng))
		return
	}
	p.setDue(th)
}

func (p *Policy[T]) setDue(th *ThreadState[T]) {
	th.proc.backedOff--
	th.proc.Due = append(th.proc.Due, th)
}

// Wake makes a thread due in this tick if it is backed off.
func (p *Policy[T]) Wake(th *ThreadState[T]) {
	if th.inWheel {
		p.wheel.remove(th)
		p.setDue(th)
	}
}

// NoteUnchanged records that a thread has not run since its last observation.
func (p *Policy[T]) NoteUnchanged(th *ThreadState[T]) (unobservedTicks int64) {
	unobservedTicks = th.endBackoff(p.tick)
	th.Unchanged.Ticks += unobservedTicks + 1
	th.Unchanged.Last = procmem.ReadingAt(th.Observed.LastClocks(), p.now)
	th.asleep = th.Observed.Asleep()
	if th.asleep {
		th.nextBackoff = backoffLength(p.now-th.unchangedSince, p.period, p.threads, th.Observed.IsKernelSampled(), p.rng)
		th.observedAt, th.clockAtObservation = p.now, th.proc.clock
	}
	if th.isFrequentWaker {
		p.noteFrequentWaker(th, th.asleep && th.Observed.IsKernelSampled() && p.now-th.unchangedSince < rareWakerAfter)
		p.backOffFrequentWaker(th)
	}
	return unobservedTicks
}

// NoteChanged records that a thread has run, or could not be observed: it is due from now on.
func (p *Policy[T]) NoteChanged(th *ThreadState[T]) (unobservedTicks int64) {
	unobservedTicks = th.endBackoff(p.tick)
	th.hasRun = th.observedOnce
	th.observedOnce = true
	th.asleep = false
	th.unchangedSince = p.now
	return unobservedTicks
}

func (th *ThreadState[T]) endBackoff(tick int64) int64 {
	if th.backedOffAtTick == 0 {
		return 0
	}
	n := tick - th.backedOffAtTick - 1
	th.backedOffAtTick = 0
	return max(n, 0)
}

// NoteObservation records an observation. created: the thread's clock began at zero within the recording.
func (p *Policy[T]) NoteObservation(th *ThreadState[T], asleep, created bool, s procmem.SchedStat) {
	th.asleep = asleep
	if s.Runs == 0 { // unknown
		return
	}
	used := int64(s.CPU)
	again := th.isFrequentWaker || th.cpuKnown && used != th.cpuAtObservation
	p.noteFrequentWaker(th, asleep && again && th.Observed.IsKernelSampled())
	p.backOffFrequentWaker(th)
	if th.cpuKnown || created {
		th.proc.explainedCPU += used - th.cpuAtObservation
	}
	th.cpuAtObservation = used
	th.cpuKnown = true
}

// BeginBackoffs begins back-offs, and removes ended threads from this tick's list.
func (p *Policy[T]) BeginBackoffs(proc *ProcessState[T]) {
	proc.Due = slices.DeleteFunc(proc.Due, func(th *ThreadState[T]) bool {
		length := th.nextBackoff
		th.nextBackoff = 0
		if th.Gone || length == 0 {
			return th.Gone
		}
		th.backedOffAtTick = p.tick
		p.wheel.put(th, p.now+length)
		proc.backedOff++
		return true
	})
}

// SearchDue reports whether a backed-off thread must have run. The caller then wakes ([Policy.Wake]) and observes those
// that ran before; if that does not explain the clock ([Policy.Unexplained]), all others, and calls
// [Policy.AllObserved]. In both cases it calls [Policy.SearchEnded].
func (p *Policy[T]) SearchDue(proc *ProcessState[T]) bool {
	return proc.backedOff > 0 && proc.clockKnown && proc.clockAt == p.now && p.now >= proc.nextSearch &&
		p.Unexplained(proc)
}

// Unexplained reports whether the process's clock has moved by more than the observations explain.
func (p *Policy[T]) Unexplained(proc *ProcessState[T]) bool {
	running := int64(0)
	for _, th := range proc.Due {
		if !th.asleep {
			running++
		}
	}
	return int64(proc.clock-proc.clockAtAllObserved)-proc.explainedCPU > running*(p.period+clockError)
}

// SearchEnded records that a search has observed n threads.
func (p *Policy[T]) SearchEnded(proc *ProcessState[T], n int) {
	proc.nextSearch = p.now + searchShare*(pollCost*int64(n)+frequentWakerCost*int64(proc.frequentWakers))
}

// AllObserved records that all threads of a process were observed.
func (p *Policy[T]) AllObserved(proc *ProcessState[T]) {
	proc.clockAtAllObserved, proc.explainedCPU = proc.clock, 0
}

// Forget removes an ended thread.
func (p *Policy[T]) Forget(th *ThreadState[T]) (unobservedTicks int64) {
	th.Gone = true
	p.noteFrequentWaker(th, false)
	if th.inWheel {
		p.wheel.remove(th)
		th.proc.backedOff--
	}
	return th.endBackoff(p.tick)
}

const (
	// frequentWakerCost is the cost of observing a sleeper that woke lately, ns. Such observations take
	// 1/frequentWakerShare of a CPU; of more than 1,562 sleepers more, because of maxFrequentWakerBackoff.
	frequentWakerCost       = 40e3
	frequentWakerShare      = 16
	maxFrequentWakerBackoff = 1e9 // mean, ns
	rareWakerAfter          = 1e9 // a sleep after which it is as any other, ns
)

func (p *Policy[T]) noteFrequentWaker(th *ThreadState[T], often bool) {
	if th.isFrequentWaker == often {
		return
	}
	n := 1
	th.isFrequentWaker = often
	if !often {
		n = -1
	}
	th.proc.frequentWakers += n
	p.frequentWakers += n
}

func (p *Policy[T]) backOffFrequentWaker(th *ThreadState[T]) {
	if th.isFrequentWaker {
		th.nextBackoff = max(th.nextBackoff, p.frequentWakerBackoff())
		th.observedAt, th.clockAtObservation = p.now, th.proc.clock
	}
}

// frequentWakerBackoff returns the back-off of a sleeper that wakes often, ns; 0: none.
func (p *Policy[T]) frequentWakerBackoff() int64 {
	length := min(int64(p.frequentWakers)*frequentWakerCost*frequentWakerShare, maxFrequentWakerBackoff)
	if length < 2*p.period {
		return 0
	}
	return randomized(length, p.rng)
}

// SampleWaits reports whether a sample waits for the thread's next due observation: one right after a run would favour
// short sleeps.
func (th *ThreadState[T]) SampleWaits() bool { return th.isFrequentWaker && th.inWheel }

// Observed is what the last observation of a thread has shown, as *[prywalk/internal/watch/observe.Thread].
type Observed interface {
	LastClocks() procmem.SchedStat
	Asleep() bool
	IsKernelSampled() bool
}

// ThreadState is the policy's state of a thread, Of.
type ThreadState[T any] struct {
	Of       T
	Observed Observed
	// Unchanged counts unreported ticks.
	Unchanged sample.Unchanged
	Gone      bool // set by [Policy.Forget]

	proc            *ProcessState[T]
	asleep          bool
	unchangedSince  int64 // CLOCK_MONOTONIC ns
	backedOffAtTick int64 // 0 if due at every tick

	nextBackoff        int64  // ns; 0 if none
	observedAt         int64  // CLOCK_MONOTONIC ns
	clockAtObservation uint64 // of the process, ns
	cpuAtObservation   int64  // ns
	cpuKnown           bool   // cpuAtObservation is valid
	isFrequentWaker    bool   // it woke lately, and is backed off nevertheless
	observedOnce       bool
	hasRun             bool // after its first observation

	inWheel    bool
	slot       int
	prev, next *ThreadState[T]
}

// BackedOff reports whether the next observation counts the ticks since the last.
func (th *ThreadState[T]) BackedOff() bool { return th.backedOffAtTick != 0 }

// HasRun reports whether the thread was found changed since its first observation.
func (th *ThreadState[T]) HasRun() bool { return th.hasRun }

// TakeUnchanged returns and resets the unreported ticks.
func (th *ThreadState[T]) TakeUnchanged() sample.Unchanged {
	u := th.Unchanged
	th.Unchanged.Ticks = 0
	return u
}

// ProcessState is the policy's state of a process.
type ProcessState[T any] struct {
	// Due are the threads to observe in this tick.
	Due []*ThreadState[T]

	clockKnown bool
	clockAt    int64  // CLOCK_MONOTONIC ns
	clock      uint64 // ns

	backedOff      int // threads
	frequentWakers int // threads
	// For searches of backed-off threads that have run.
	clockAtAllObserved uint64 // ns
	explainedCPU       int64  // by observations since, ns
	nextSearch         int64  // CLOCK_MONOTONIC ns
}

// NewProcessState returns the state of a process whose clock is cpu, ns.
func NewProcessState[T any](cpu uint64) *ProcessState[T] {
	return &ProcessState[T]{clock: cpu, clockAtAllObserved: cpu}
}

// SetClock sets the process's clock (ns) at a tick (CLOCK_MONOTONIC ns). ok: it was readable.
func (p *ProcessState[T]) SetClock(at int64, cpu uint64, ok bool) {
	p.clockAt = at
	p.clock = cpu
	p.clockKnown = ok
}

// AnyBackedOff reports whether a thread is backed off.
func (p *ProcessState[T]) AnyBackedOff() bool { return p.backedOff > 0 }

// Add adds a new thread.
func (p *ProcessState[T]) Add(th *ThreadState[T]) {
	th.proc = p
	p.Due = append(p.Due, th)
}
