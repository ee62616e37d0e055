// SPDX-License-Identifier: Apache-2.0

package backoff

import (
	"math/rand/v2"
	"slices"

	"prywalk/internal/procmem"
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
type Policy struct {
	wheel     timingWheel
	rng       *rand.Rand
	onExpired func(*ThreadState) // the method backoffExpired, bound once

	tick           int64 // number of the present or last tick
	now            int64 // CLOCK_MONOTONIC ns
	period         int64 // mean distance of ticks, ns
	threads        int
	frequentWakers int
}

// New returns a policy with random numbers from seed.
func New(seed uint64) *Policy {
	p := &Policy{rng: rand.New(rand.NewPCG(seed, 0x6964_6c65))}
	p.onExpired = p.backoffExpired
	return p
}

// BeginTick begins a tick. at is its time, CLOCK_MONOTONIC ns; period the mean distance of ticks, ns.
func (p *Policy) BeginTick(tick, at, period int64) {
	p.tick = tick
	p.now = at
	p.period = period
}

// WakeDue makes threads due whose back-off has ended.
func (p *Policy) WakeDue(threads int) {
	p.threads = threads
	p.wheel.advance(p.now, p.onExpired)
}

// backoffExpired prolongs a back-off if the process's clock has not moved since.
func (p *Policy) backoffExpired(th *ThreadState) {
	proc := th.proc
	if proc.clockKnown && proc.clock == th.clockAtObservation && p.now-th.observedAt < prolongedUpTo-maxBackoff {
		p.wheel.put(th, p.now+prolongationLength(p.threads, p.rng))
		return
	}
	p.setDue(th)
}

func (p *Policy) setDue(th *ThreadState) {
	th.proc.backedOff--
	th.proc.Due = append(th.proc.Due, th)
}

// Wake makes a thread due in this tick if it is backed off.
func (p *Policy) Wake(th *ThreadState) {
	if th.inWheel {
		p.wheel.remove(th)
		p.setDue(th)
	}
}

// NoteUnchanged records that a thread has not run since its last observation.
func (p *Policy) NoteUnchanged(th *ThreadState) (unobservedTicks int64) {
	unobservedTicks = th.endBackoff(p.tick)
	th.Unchanged.Ticks += unobservedTicks + 1
	th.Unchanged.Last = procmem.ReadingAt(th.Observed.LastClocks(), p.now)
	th.asleep = th.Observed.Asleep()
	if th.asleep {
		factor, share := th.backoffLimits(p.threads)
		th.nextBackoff = backoffLength(p.now-th.unchangedSince, p.period, p.threads, factor, share, p.rng)
		th.observedAt, th.clockAtObservation = p.now, th.proc.clock
	}
	if th.isFrequentWaker {
		p.noteFrequentWaker(th, th.asleep && th.Observed.IsKernelSampled() && p.now-th.unchangedSince < rareWakerAfter)
		p.backOffFrequentWaker(th)
	}
	return unobservedTicks
}

// NoteChanged records that a thread has run, or could not be observed: it is due from now on.
func (p *Policy) NoteChanged(th *ThreadState) (unobservedTicks int64) {
	unobservedTicks = th.endBackoff(p.tick)
	th.ranWhileBackedOff = th.ranWhileBackedOff || unobservedTicks > 0 && !th.isFrequentWaker
	th.ranFirstTime = th.observedOnce && !th.hasRun
	th.hasRun = th.observedOnce
	th.observedOnce = true
	th.asleep = false
	th.unchangedSince = p.now
	return unobservedTicks
}

func (th *ThreadState) endBackoff(tick int64) int64 {
	if th.backedOffAtTick == 0 {
		return 0
	}
	n := tick - th.backedOffAtTick - 1
	th.backedOffAtTick = 0
	return max(n, 0)
}

// NoteObservation records an observation. created: the thread's clock began at zero within the recording.
func (p *Policy) NoteObservation(th *ThreadState, asleep, created bool, s procmem.SchedStat) {
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
		if th.ranWhileBackedOff {
			th.sharedFactor().backedOffCPU += used - th.cpuAtObservation
		}
	}
	th.cpuAtObservation = used
	th.cpuKnown = true
	th.ranWhileBackedOff = false
	th.ranFirstTime = false
}

// BeginBackoffs begins back-offs, and removes ended threads from this tick's list.
func (p *Policy) BeginBackoffs(proc *ProcessState) {
	proc.Due = slices.DeleteFunc(proc.Due, func(th *ThreadState) bool {
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
func (p *Policy) SearchDue(proc *ProcessState) bool {
	return proc.backedOff > 0 && proc.clockKnown && proc.clockAt == p.now && p.now >= proc.nextSearch &&
		p.Unexplained(proc)
}

// Unexplained reports whether the process's clock has moved by more than the observations explain.
func (p *Policy) Unexplained(proc *ProcessState) bool {
	running := int64(0)
	for _, th := range proc.Due {
		if !th.asleep {
			running++
		}
	}
	return int64(proc.clock-proc.clockAtAllObserved)-proc.explainedCPU > running*(p.period+clockError)
}

// SearchEnded records that a search has observed n threads.
func (p *Policy) SearchEnded(proc *ProcessState, n int) {
	proc.nextSearch = p.now + searchShare*(pollCost*int64(n)+frequentWakerCost*int64(proc.frequentWakers))
}

// AllObserved records that all threads of a process were observed.
func (p *Policy) AllObserved(proc *ProcessState) {
	proc.clockAtAllObserved, proc.explainedCPU = proc.clock, 0
}

// Forget removes an ended thread.
func (p *Policy) Forget(th *ThreadState) (unobservedTicks int64) {
	th.Gone = true
	p.noteFrequentWaker(th, false)
	if th.inWheel {
		p.wheel.remove(th)
		th.proc.backedOff--
	}
	return th.endBackoff(p.tick)
}
