// SPDX-License-Identifier: Apache-2.0

package backoff

import (
	"prywalk/internal/observe"
	"prywalk/internal/sample"
)

// ThreadState is the policy's state of a thread.
type ThreadState struct {
	Observed *observe.Thread
	// Unchanged counts unreported ticks.
	Unchanged sample.Unchanged
	Gone      bool // set by [Policy.Forget]

	proc            *ProcessState
	asleep          bool
	unchangedSince  int64 // CLOCK_MONOTONIC ns
	backedOffAtTick int64 // 0 if due at every tick

	nextBackoff        int64  // ns; 0 if none
	observedAt         int64  // CLOCK_MONOTONIC ns
	clockAtObservation uint64 // of the process, ns
	cpuAtObservation   int64  // ns
	cpuKnown           bool   // cpuAtObservation is valid
	isFrequentWaker    bool   // it woke lately, and is backed off nevertheless
	ranWhileBackedOff  bool   // not accounted yet
	observedOnce       bool
	hasRun             bool // after its first observation
	ranFirstTime       bool // not accounted yet

	inWheel    bool
	slot       int
	prev, next *ThreadState
}

// BackedOff reports whether the next observation counts the ticks since the last.
func (th *ThreadState) BackedOff() bool { return th.backedOffAtTick != 0 }

// HasRun reports whether the thread was found changed since its first observation.
func (th *ThreadState) HasRun() bool { return th.hasRun }

func (th *ThreadState) sharedFactor() *backoffFactor {
	if th.hasRun && !th.ranFirstTime {
		return &th.proc.haveRun
	}
	return &th.proc.notRunYet
}

// backoffLimits returns the factor and the share of a back-off. Among many, a kernel-sampled thread has the longest.
func (th *ThreadState) backoffLimits(threads int) (factor, share int64) {
	factor, share = th.sharedFactor().factor(), sleepShare
	if threads < manyThreads || !th.Observed.IsKernelSampled() {
		return factor, share
	}
	if !th.hasRun {
		share = notRunShare
	}
	return maxFactor, share
}

// TakeUnchanged returns and resets the unreported ticks.
func (th *ThreadState) TakeUnchanged() sample.Unchanged {
	u := th.Unchanged
	th.Unchanged.Ticks = 0
	return u
}

// ProcessState is the policy's state of a process.
type ProcessState struct {
	// Due are the threads to observe in this tick.
	Due []*ThreadState

	clockKnown bool
	clockAt    int64  // CLOCK_MONOTONIC ns
	clock      uint64 // ns

	backedOff      int // threads
	frequentWakers int // threads
	// For searches of backed-off threads that have run.
	clockAtAllObserved uint64 // ns
	explainedCPU       int64  // by observations since, ns
	nextSearch         int64  // CLOCK_MONOTONIC ns

	haveRun   backoffFactor // threads that have run since their first observation
	notRunYet backoffFactor // the others
}

// NewProcessState returns the state of a process whose clock is cpu, ns.
func NewProcessState(cpu uint64) *ProcessState {
	return &ProcessState{clock: cpu, clockAtAllObserved: cpu}
}

// SetClock sets the process's clock (ns) at a tick (CLOCK_MONOTONIC ns). ok: it was readable.
func (p *ProcessState) SetClock(at int64, cpu uint64, ok bool) {
	p.clockAt = at
	p.clock = cpu
	p.clockKnown = ok
	if ok {
		p.haveRun.update(at, cpu)
		p.notRunYet.update(at, cpu)
	}
}

// AnyBackedOff reports whether a thread is backed off.
func (p *ProcessState) AnyBackedOff() bool { return p.backedOff > 0 }

// Add adds a new thread.
func (p *ProcessState) Add(th *ThreadState) {
	th.proc = p
	p.Due = append(p.Due, th)
}
