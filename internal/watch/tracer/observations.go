// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"golang.org/x/sys/unix"

	"prywalk/internal/base/errs"
	"prywalk/internal/base/sample"
	"prywalk/internal/host/procmem"
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
	stops   *stops
	backlog *backlog
	tracked *tracked

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
			o.counts.noteNotAdmitted()
		}
		return
	}
	o.gaps.noteObservation(procmem.Now())
	if th.Engine != nil {
		th.Engine.BeforeObservation()
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
	case (outcome == observe.Unchanged || left) && o.clocksMayBeExecCallers(th, clocks):
		o.noteChanged(th)
		o.postpone(th, nil)
	case err != nil:
		o.fail(th, err)
	case outcome == observe.Unchanged:
		o.noteUnchanged(th, clocks)
	case outcome == observe.WaitsForCPU && o.triesTwice:
		o.counts.withdraw()
		o.left = append(o.left, th)
	case left:
		o.counts.withdraw()
		o.noteChanged(th)
		th.AccountedClocks = clocks
		th.Engine.FoundRunning() // its engine observes it
	case outcome == observe.WaitsForCPU:
		o.counts.notePostponed()
		o.noteChanged(th)
	case outcome == observe.Done:
		o.noteChanged(th)
		o.accept(th, raw)
	case outcome == observe.Pending:
		o.noteChanged(th)
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
	lastTriesEvery             = 1e6          // in the last tick, ns
	lastTickFor, lastTickTries = 100e6, 500e6 // its longest time, ns
)

// lastTickFor is longer where threads are left: on a busy host it takes over 100 ms until a thread and the tracer have
// a CPU each at the same time, and without a stop the CPU time after the thread's last sample is unobserved.
func (o *observations) lastTickFor() int64 {
	if o.triesTwice {
		return lastTickTries
	}
	return lastTickFor
}

// observeLeft tries threads without a CPU once more; in the last tick until the deadline (CLOCK_MONOTONIC, ns).
func (o *observations) observeLeft(deadline int64) {
	for again := true; again && len(o.left) > 0; {
		o.stops.leaveCPU()
		again = o.shared.Ending && procmem.Now() < deadline
		tries := o.left
		o.left, o.triesTwice = o.left[:0], again
		for _, th := range tries {
			o.observe(th)
		}
		if again && len(o.left) > 0 {
			o.stops.pause(procmem.Now() + lastTriesEvery)
		}
		o.triesTwice = true
	}
}

func (o *observations) noteUnchanged(th *target.Thread, clocks procmem.SchedStat) {
	th.AccountedClocks = clocks
	if th.Engine != nil {
		th.Engine.ClocksRead(procmem.ReadingAt(clocks, o.shared.Tick.At))
	}
	th.ObservedTick = o.shared.Tick.Number
	o.counts.noteUnchanged(o.shared.Backoff.NoteUnchanged(th))
}

// stopFinished takes the result of a pending stop, in any wait of the tracer.
func (o *observations) stopFinished(observed *observe.Thread, raw *observe.RawSample, err error) {
	th := o.stops.endPending(observed)
	if err != nil {
		o.fail(th, err)
		return
	}
	o.accept(th, raw)
}

func (o *observations) accept(th *target.Thread, raw *observe.RawSample) {
	if o.clocksMayBeExecCallers(th, raw.Sched) && !provesNoExec(th, raw) {
		o.postpone(th, raw)
		return
	}
	o.report(th, raw)
}

// clocksMayBeExecCallers reports whether the clocks that were read of a first thread may be those of another, which has
// called exec ([execs]).
func (o *observations) clocksMayBeExecCallers(th *target.Thread, clocks procmem.SchedStat) bool {
	if !th.IsFirst() || clocks == th.AccountedClocks {
		return false
	}
	return th.ClocksWentBack(clocks) || !th.Proc.IsSettled()
}

// provesNoExec reports whether s was read of the tracked thread itself, not of one that an exec has given its number.
// During an exec the caller does not stop, nor is it in another system call than execve.
func provesNoExec(th *target.Thread, s *observe.RawSample) bool {
	if s.How != observe.ByStop && !(s.How == observe.ByPassiveRead && inOtherCall(s)) {
		return false
	}
	return !th.ClocksWentBack(s.Sched) && th.Proc.RunsTrackedProgram()
}

// inOtherCall reports whether a thread that was read passively was in a system call that is no exec.
func inOtherCall(s *observe.RawSample) bool {
	exec := s.Call.Nr == unix.SYS_EXECVE || s.Call.Nr == unix.SYS_EXECVEAT
	return !s.Call.Running && s.Call.Nr >= 0 && !exec
}

// postpone leaves an observation to a later tick. raw may be nil.
func (o *observations) postpone(th *target.Thread, raw *observe.RawSample) {
	if raw != nil {
		o.shared.Pool.Put(raw)
	}
	th.Observed.ResetBaseline(th.AccountedClocks)
	o.counts.notePostponed()
	th.Proc.Threads.HintChange()
}

func (o *observations) report(th *target.Thread, s *observe.RawSample) {
	th.AccountedClocks = s.Sched
	if th.Engine != nil {
		th.Engine.ClocksRead(procmem.ReadingAt(s.Sched, s.At))
	}
	if th.Observed.IsKernelSampled() {
		s.OnCPU, s.Skids = false, false
	}
	o.stops.countObservation(th.Observed, s)
	if s.How == observe.ByStop && th.Observed.ManyCalls() && !th.Observed.IsKernelSampled() {
		o.stops.preferCPUOf(th.Observed)
	}
	o.gaps.endGap(s.At)
	th.ObservedTick = o.shared.Tick.Number
	o.shared.Backoff.NoteObservation(th, s.State != sample.Running, th.FromZero, s.Sched)
	if th.Engine != nil {
		th.Engine.AfterObservation(s)
	}
	o.shared.AddSample(target.Event{
		Thread: th, RawSample: s, UnchangedBefore: th.TakeUnchanged(),
		StandsFor:  o.shared.Tick.StandsFor,
		WalkAtOnce: s.State == sample.Running && th.Proc.WalkAtOnce(s.At),
	})
}

func (o *observations) fail(th *target.Thread, err error) {
	reason := observe.Reason(err)
	o.counts.noteFailure(reason)
	o.noteChanged(th)
	switch {
	case reason != errs.Exited:
	case th.IsFirst() || !th.Proc.IsSettled(): // the next listing decides ([execs])
		th.Observed.ResetBaseline(th.AccountedClocks)
		th.Proc.Threads.HintChange()
	default:
		o.tracked.endThread(th)
	}
}

func (o *observations) noteChanged(th *target.Thread) {
	o.counts.noteRan(o.shared.Backoff.NoteChanged(th))
}
