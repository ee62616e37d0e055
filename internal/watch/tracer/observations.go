// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"time"

	"prywalk/internal/watch/observe"
	"prywalk/internal/watch/target"
	"prywalk/ptrace"
)

type observations struct {
	shared  *target.SharedState
	pace    *pacer
	counts  *counts
	gaps    *gapDetector
	engine  target.Engine
	results *results
	stops   *stops
	backlog *backlog

	triesTwice bool // see observeLeft
	left       []*target.Thread
}

// wasTried reports whether the thread's observation was attempted in this tick, admitted or not.
func (o *observations) wasTried(th *target.Thread) bool { return th.TriedTick == o.shared.Tick.Number }

func (o *observations) observe(th *target.Thread) {
	th.TriedTick = o.shared.Tick.Number
	o.engine.DrainIfDue()
	admitted := o.pace.admitsObservation() && o.backlog.roomForCopy()
	if th.Gone {
		return // it has ended in a pause
	}
	if !admitted || th.Observed.Pending() {
		if !th.BackedOff() { // else its next observation counts this tick
			o.counts.countNotAdmitted()
		}
		return
	}
	o.gaps.recordObservation(ptrace.Now())
	if th.EnginePart != nil {
		th.EnginePart.BeforeObservation()
	}
	ptrace.Pin() // see [stops]
	defer ptrace.Unpin()
	outcome, raw, err := o.stops.beginObservation(th)
	o.apply(th, outcome, raw, err)
	o.stops.pollBegun(th.Observed, outcome)
}

func (o *observations) apply(th *target.Thread, outcome observe.Outcome, raw *observe.RawSample, err error) {
	clocks := th.Observed.LastClocks()
	left := outcome == observe.LeftToEngine || // also of a thread that a stop would not have found on a CPU
		outcome == observe.WaitsForCPU && !o.triesTwice && th.Observed.IsKernelSampled()
	switch {
	case (outcome == observe.Unchanged || left) && th.MayBeExecCaller(clocks, nil):
		o.results.recordChanged(th)
		o.results.postpone(th)
	case err != nil:
		o.results.takeFailure(th, err)
	case outcome == observe.Unchanged:
		o.results.takeUnchanged(th, clocks)
	case outcome == observe.WaitsForCPU && o.triesTwice:
		o.counts.withdraw()
		o.left = append(o.left, th)
	case left:
		o.counts.withdraw()
		o.results.recordChanged(th)
		th.AccountedClocks = clocks
		th.EnginePart.FoundRunning() // its engine observes it
	case outcome == observe.WaitsForCPU:
		o.counts.countPostponed()
		o.results.recordChanged(th)
	case outcome == observe.Done:
		o.results.recordChanged(th)
		o.results.takeSample(th, raw)
	case outcome == observe.Pending:
		o.results.recordChanged(th)
	}
}

// # At ordinary priority
//
// On a busy host, a tracer of ordinary priority that sleeps or waits for another thread gets a CPU again only after
// some ms. So during a stop it does neither, except after a wait for mmap_lock
// ([observe.Observer.LimitLockWait]): it stops only threads that are on another CPU, and busy-waits. A thread on the
// tracer's CPU is preempted: it is tried again from another CPU.

func (o *observations) stopOnlyOnOtherCPUs() {
	o.triesTwice = true
	o.shared.Observer.StopOnlyOnCPU(false)
}

const (
	lastTriesEvery             = time.Millisecond                               // in the last tick
	lastTickFor, lastTickTries = 100 * time.Millisecond, 500 * time.Millisecond // its longest time
)

// lastTickFor is longer where threads are left: on a busy host it takes over 100 ms until a thread and the tracer have
// a CPU each at the same time, and without a stop the CPU time after the thread's last sample is unobserved.
func (o *observations) lastTickFor() time.Duration {
	if o.triesTwice {
		return lastTickTries
	}
	return lastTickFor
}

// observeLeft tries threads without a CPU once more; in the last tick until the deadline.
func (o *observations) observeLeft(deadline ptrace.Moment) {
	for again := true; again && len(o.left) > 0; {
		o.stops.leaveCPU()
		again = o.shared.Ending && ptrace.Now() < deadline
		tries := o.left
		o.left, o.triesTwice = o.left[:0], again
		for _, th := range tries {
			o.observe(th)
		}
		if again && len(o.left) > 0 {
			o.stops.pause(ptrace.Now().Add(lastTriesEvery))
		}
		o.triesTwice = true
	}
}
