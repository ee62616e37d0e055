// SPDX-License-Identifier: Apache-2.0

package target

import (
	"math/rand/v2"
	"slices"
	"time"

	"prywalk/internal/base/monotonic"
	"prywalk/internal/base/sample"
	"prywalk/internal/host/procmem"
)

// # Back-off
//
// An observation of a sleeping thread costs one read of a /proc file. Threads found unchanged for long are observed
// less often ([backoffLength]), at random, so that threads that fell asleep together are not due together. A thread
// found changed is observed at every tick again.
//
// An unchanged run count proves that the stack was the same at all ticks since the last observation. A changed one ends
// a longer interval than usual, in which the first stack of a burst is not observed. With kernel samples, which show
// the bursts, back-offs may be longer.
//
// While the process's clock stands still, no thread has left a CPU: threads that fall due stay backed off, up to about
// prolongedUpTo after their observation. If it has moved by more than the observed threads explain, a backed-off
// thread has run: those that ran before are observed, then, if these do not explain it, all others. The kernel updates
// a running thread's time at scheduler ticks only (kernel/sched/cputime.c, thread_group_cputime).
//
// With kernel samples, an observation of a sleeper that wakes often shows only where it sleeps. Among many threads,
// observations are then thinned out at random ([Backoffs.frequentWakerBackoff]), and a sample waits for its thread's
// next observation ([Thread.SampleWaits]): its time depends neither on the place of the sleep nor on a recent run, so
// the division of blocked time is right on average.

// Backoffs decides which sleepers are backed off. The calls of a tick:
//
//	BeginTick, WakeDue
//	for each thread that is observed: RecordUnchanged, or RecordChanged (also if that fails)
//	RecordObservation     after RecordChanged, once a sample is taken or the clocks are read; a stop may end later
//	SearchDue, …        see there
//	BeginBackoffs       for each process
//
// RecordObservation charges the CPU time since the last one to the back-off that RecordChanged has ended.
type Backoffs struct {
	sleepers sleepers
	rng      *rand.Rand

	tick           int64 // number of the present or last tick
	now            monotonic.Moment
	period         time.Duration // mean distance of ticks
	threads        int
	frequentWakers int
}

// NewBackoffs returns a policy with random numbers from seed.
func NewBackoffs(seed uint64) *Backoffs {
	return &Backoffs{rng: rand.New(rand.NewPCG(seed, 0x6964_6c65))}
}

// BeginTick begins a tick. at is its time; period the mean distance of ticks.
func (p *Backoffs) BeginTick(tick int64, at monotonic.Moment, period time.Duration) {
	p.tick = tick
	p.now = at
	p.period = period
}

// WakeDue makes threads due whose back-off has ended.
func (p *Backoffs) WakeDue(threads int) {
	p.threads = threads
	for _, th := range p.sleepers.takeEnded(p.now) {
		p.backoffExpired(th)
	}
}

// backoffExpired prolongs a back-off if the process's clock has not moved since.
func (p *Backoffs) backoffExpired(th *Thread) {
	b, proc := &th.backoff, th.Proc.Backoff
	if proc.clock.Valid && proc.clock.Now == b.clockAtObservation && p.now.Sub(b.observedAt) < prolongedUpTo-maxBackoff {
		p.sleepers.put(th, p.now.Add(randomized(pollingBackoff(p.threads, maxBackoff), p.rng)))
		return
	}
	p.setDue(th)
}

func (p *Backoffs) setDue(th *Thread) {
	th.Proc.Backoff.backedOff--
	th.Proc.Backoff.Due = append(th.Proc.Backoff.Due, th)
}

// Wake makes a thread due in this tick if it is backed off.
func (p *Backoffs) Wake(th *Thread) {
	if th.backoff.place != 0 {
		p.sleepers.remove(th)
		p.setDue(th)
	}
}

// RecordUnchanged records that a thread has not run since its last observation.
func (p *Backoffs) RecordUnchanged(th *Thread) (unobservedTicks int64) {
	b := &th.backoff
	unobservedTicks = th.endBackoff(p.tick)
	th.Unchanged.Ticks += unobservedTicks + 1
	th.Unchanged.Last = procmem.ReadingAt(th.Observed.LastClocks(), int64(p.now))
	b.asleep = th.Observed.Asleep()
	if b.asleep {
		b.nextBackoff = backoffLength(p.now.Sub(b.unchangedSince), p.period, p.threads, th.Observed.IsKernelSampled(), p.rng)
		b.observedAt, b.clockAtObservation = p.now, th.Proc.Backoff.clock.Now
	}
	if b.isFrequentWaker {
		p.setFrequentWaker(th, b.asleep && th.Observed.IsKernelSampled() && p.now.Sub(b.unchangedSince) < rareWakerAfter)
		p.backOffFrequentWaker(th)
	}
	return unobservedTicks
}

// RecordChanged records that a thread has run, or could not be observed: it is due from now on.
func (p *Backoffs) RecordChanged(th *Thread) (unobservedTicks int64) {
	b := &th.backoff
	unobservedTicks = th.endBackoff(p.tick)
	b.hasRun = b.observedOnce
	b.observedOnce = true
	b.asleep = false
	b.unchangedSince = p.now
	return unobservedTicks
}

func (th *Thread) endBackoff(tick int64) int64 {
	if th.backoff.backedOffAtTick == 0 {
		return 0
	}
	n := tick - th.backoff.backedOffAtTick - 1
	th.backoff.backedOffAtTick = 0
	return max(n, 0)
}

// RecordObservation records an observation. created means that the thread's clock began at zero within the recording.
func (p *Backoffs) RecordObservation(th *Thread, asleep, created bool, s procmem.SchedStat) {
	b := &th.backoff
	b.asleep = asleep
	if s.Runs == 0 { // unknown
		return
	}
	used := time.Duration(s.CPU)
	again := b.isFrequentWaker || b.cpuKnown && used != b.cpuAtObservation
	p.setFrequentWaker(th, asleep && again && th.Observed.IsKernelSampled())
	p.backOffFrequentWaker(th)
	if b.cpuKnown || created {
		th.Proc.Backoff.explainedCPU += used - b.cpuAtObservation
	}
	b.cpuAtObservation = used
	b.cpuKnown = true
}

// BeginBackoffs begins back-offs, and removes ended threads from this tick's list.
func (p *Backoffs) BeginBackoffs(proc *ProcessBackoff) {
	proc.Due = slices.DeleteFunc(proc.Due, func(th *Thread) bool {
		length := th.backoff.nextBackoff
		th.backoff.nextBackoff = 0
		if th.Gone || length == 0 {
			return th.Gone
		}
		th.backoff.backedOffAtTick = p.tick
		p.sleepers.put(th, p.now.Add(length))
		proc.backedOff++
		return true
	})
}

// SearchDue reports whether a backed-off thread must have run. The caller then wakes ([Backoffs.Wake]) and observes
// those that ran before; if that does not explain the clock ([Backoffs.Unexplained]), all others, and calls
// [Backoffs.AllObserved]. In both cases it calls [Backoffs.SearchEnded].
func (p *Backoffs) SearchDue(proc *ProcessBackoff) bool {
	return proc.backedOff > 0 && proc.clock.Valid && proc.clock.ReadAt == p.now && p.now >= proc.nextSearch &&
		p.Unexplained(proc)
}

// Unexplained reports whether the process's clock has moved by more than the observations explain.
func (p *Backoffs) Unexplained(proc *ProcessBackoff) bool {
	running := int64(0)
	for _, th := range proc.Due {
		if !th.backoff.asleep {
			running++
		}
	}
	return proc.clock.Now-proc.clockAtAllObserved-proc.explainedCPU > time.Duration(running)*(p.period+clockError)
}

// SearchEnded records that a search has observed n threads.
func (p *Backoffs) SearchEnded(proc *ProcessBackoff, n int) {
	cost := pollCost*time.Duration(n) + frequentWakerCost*time.Duration(proc.frequentWakers)
	proc.nextSearch = p.now.Add(searchShare * cost)
}

// AllObserved records that all threads of a process were observed.
func (p *Backoffs) AllObserved(proc *ProcessBackoff) {
	proc.clockAtAllObserved, proc.explainedCPU = proc.clock.Now, 0
}

// Forget removes an ended thread.
func (p *Backoffs) Forget(th *Thread) (unobservedTicks int64) {
	th.Gone = true
	p.setFrequentWaker(th, false)
	if th.backoff.place != 0 {
		p.sleepers.remove(th)
		th.Proc.Backoff.backedOff--
	}
	return th.endBackoff(p.tick)
}

const (
	// frequentWakerCost is the cost of observing a sleeper that woke lately. Such observations take
	// 1/frequentWakerShare of a CPU; of more than 1,562 sleepers more, because of maxFrequentWakerBackoff.
	frequentWakerCost       = 40 * time.Microsecond
	frequentWakerShare      = 16
	maxFrequentWakerBackoff = time.Second // mean
	rareWakerAfter          = time.Second // a sleep after which it is as any other
)

func (p *Backoffs) setFrequentWaker(th *Thread, often bool) {
	if th.backoff.isFrequentWaker == often {
		return
	}
	n := 1
	th.backoff.isFrequentWaker = often
	if !often {
		n = -1
	}
	th.Proc.Backoff.frequentWakers += n
	p.frequentWakers += n
}

func (p *Backoffs) backOffFrequentWaker(th *Thread) {
	b := &th.backoff
	if b.isFrequentWaker {
		b.nextBackoff = max(b.nextBackoff, p.frequentWakerBackoff())
		b.observedAt, b.clockAtObservation = p.now, th.Proc.Backoff.clock.Now
	}
}

// frequentWakerBackoff returns the back-off of a sleeper that wakes often; 0 means none.
func (p *Backoffs) frequentWakerBackoff() time.Duration {
	length := min(time.Duration(p.frequentWakers)*frequentWakerCost*frequentWakerShare, maxFrequentWakerBackoff)
	if length < 2*p.period {
		return 0
	}
	return randomized(length, p.rng)
}

// SampleWaits reports whether a sample waits for the thread's next due observation: one right after a run would favour
// short sleeps.
func (th *Thread) SampleWaits() bool { return th.backoff.isFrequentWaker && th.backoff.place != 0 }

// threadBackoff is the policy's state of a thread.
type threadBackoff struct {
	asleep          bool
	unchangedSince  monotonic.Moment
	backedOffAtTick int64 // 0 if due at every tick

	nextBackoff        time.Duration // 0 if none
	observedAt         monotonic.Moment
	clockAtObservation time.Duration // of the process
	cpuAtObservation   time.Duration
	cpuKnown           bool // cpuAtObservation is valid
	isFrequentWaker    bool // it woke lately, and is backed off nevertheless
	observedOnce       bool
	hasRun             bool // after its first observation
	place              int  // in sleepers, from 1 on; 0 means none
}

// BackedOff reports whether the next observation counts the ticks since the last.
func (th *Thread) BackedOff() bool { return th.backoff.backedOffAtTick != 0 }

// HasRun reports whether the thread was found changed since its first observation.
func (th *Thread) HasRun() bool { return th.backoff.hasRun }

// TakeUnchanged returns and resets the unreported ticks.
func (th *Thread) TakeUnchanged() sample.Unchanged {
	u := th.Unchanged
	th.Unchanged.Ticks = 0
	return u
}

// ProcessBackoff is the policy's state of a process.
type ProcessBackoff struct {
	// Due are the threads to observe in this tick.
	Due []*Thread

	clock          *Clock
	backedOff      int // threads
	frequentWakers int // threads
	// These are for searches of backed-off threads that have run.
	clockAtAllObserved time.Duration
	explainedCPU       time.Duration // by observations since
	nextSearch         monotonic.Moment
}

// NewProcessBackoff returns the state of a process with that clock.
func NewProcessBackoff(clock *Clock) *ProcessBackoff {
	return &ProcessBackoff{clock: clock, clockAtAllObserved: clock.Now}
}

// AnyBackedOff reports whether a thread is backed off.
func (p *ProcessBackoff) AnyBackedOff() bool { return p.backedOff > 0 }

// Add adds a new thread.
func (p *ProcessBackoff) Add(th *Thread) { p.Due = append(p.Due, th) }
