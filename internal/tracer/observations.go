// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"golang.org/x/sys/unix"

	"prywalk/internal/engine"
	"prywalk/internal/handover"
	"prywalk/internal/observe"
	"prywalk/internal/procmem"
	"prywalk/internal/refusal"
	"prywalk/internal/sample"
	"prywalk/internal/schedule"
	"prywalk/ptrace"
)

// observations observes threads, one at a time.
type observations struct {
	*engine.SharedState
	pace    *pace
	counts  *counts
	gaps    *gaps
	engine  engine.Engine
	stops   *stops
	backlog *backlog
	tracked *tracked

	own      ownWork
	interval int64 // time that an observation of this tick stands for, ns
}

func (o *observations) beginTick(interval int64) {
	o.interval = interval
	o.own.measure(o.Tick.Number, o.Tick.At)
}

// extendInterval makes an observation stand for more time, as only one of duePerDrawn threads is observed.
func (o *observations) extendInterval(duePerDrawn float64) {
	o.interval = int64(float64(o.interval) * duePerDrawn)
}

// wasTried reports whether an observation of a thread was begun in this tick, or not admitted.
func (o *observations) wasTried(th *thread) bool { return th.triedTick == o.Tick.Number }

// observe begins an observation of a thread, and finishes it unless it waits for a stop.
func (o *observations) observe(th *thread) {
	th.triedTick = o.Tick.Number
	o.engine.DrainIfDue()
	if !o.pace.admitsObservation() || !o.backlog.roomForCopy() || th.Observed.Pending() {
		if !th.Backoff.BackedOff() { // else its next observation counts this tick
			o.counts.noteQueued()
		}
		return
	}
	o.gaps.noteObservation(procmem.Now())
	if th.EnginePart != nil {
		th.EnginePart.BeforeObservation()
	}
	ptrace.Pin() // no preemption after the interrupt
	defer ptrace.Unpin()
	outcome, raw, err := o.stops.begin(stopTarget{thread: th}, th.Observed)
	o.apply(th, outcome, raw, err)
	if outcome != observe.LeftToSamples {
		th.Steady = schedule.SteadyDetector{}
	}
	o.stops.pollBegun(th.Observed, outcome)
}

// apply counts the outcome of [observe.Observer.Begin], and uses what was read.
func (o *observations) apply(th *thread, outcome observe.Outcome, raw *observe.RawSample, err error) {
	clocks := th.Observed.LastSched()
	switch {
	case (outcome == observe.Unchanged || outcome == observe.LeftToSamples) && o.mayBeOfCaller(th, clocks):
		o.noteChanged(th)
		o.postpone(th, nil)
	case err != nil:
		o.fail(th, err)
	case outcome == observe.Unchanged:
		o.noteUnchanged(th, clocks)
	case outcome == observe.LeftToSamples:
		o.counts.noteLeftToSamples()
		o.noteChanged(th)
		th.accountedClocks = clocks
		th.EnginePart.FoundRunning() // its engine observes it
	case outcome == observe.Queued:
		o.counts.notePostponed()
		o.noteChanged(th)
	case outcome == observe.Done:
		o.noteChanged(th)
		o.finishPending(th, raw, nil)
	case outcome == observe.Pending:
		o.noteChanged(th)
	}
}

func (o *observations) noteUnchanged(th *thread, clocks procmem.SchedStat) {
	th.accountedClocks = clocks
	if th.EnginePart != nil {
		th.EnginePart.ClocksRead(procmem.ReadingAt(clocks, o.Tick.At), th.Observed.Asleep())
	}
	th.observedTick = o.Tick.Number
	o.counts.noteUnchanged(o.Backoff.NoteUnchanged(&th.Backoff))
}

func (o *observations) finishPending(th *thread, s *observe.RawSample, err error) {
	if err != nil {
		o.fail(th, err)
		return
	}
	if o.mayBeOfCaller(th, s.Sched) && !th.provesNoExec(s) {
		o.postpone(th, s)
		return
	}
	o.finish(th, s)
}

// mayBeOfCaller reports that the clocks that were read of a first thread may be those of another, which has called exec
// ([execs]).
func (o *observations) mayBeOfCaller(th *thread, clocks procmem.SchedStat) bool {
	if !th.isFirst() || clocks == th.accountedClocks {
		return false
	}
	return clocks.CPU < th.accountedClocks.CPU || clocks.Runs < th.accountedClocks.Runs || !th.proc.isSettled()
}

// provesNoExec reports that a sample of a first thread is of the thread that was tracked: a thread that takes another's
// number does not stop until its address space is new, nor is it in another system call.
func (th *thread) provesNoExec(s *observe.RawSample) bool {
	switch s.How {
	case observe.ByStop:
	case observe.ByPassiveRead:
		if s.Call.Running || s.Call.Nr < 0 || s.Call.Nr == unix.SYS_EXECVE || s.Call.Nr == unix.SYS_EXECVEAT {
			return false
		}
	default:
		return false
	}
	return s.Sched.CPU >= th.accountedClocks.CPU && s.Sched.Runs >= th.accountedClocks.Runs &&
		th.proc.runsTrackedProgram()
}

// postpone leaves a thread to the next tick. raw is not used; it may be nil.
func (o *observations) postpone(th *thread, raw *observe.RawSample) {
	if raw != nil {
		o.Observer.Drop(raw)
	}
	th.Observed.ForgetLast(th.accountedClocks)
	o.counts.notePostponed()
	th.proc.list.hintChange()
}

func (o *observations) finish(th *thread, s *observe.RawSample) {
	th.accountedClocks = s.Sched
	if th.EnginePart != nil {
		th.EnginePart.ClocksRead(procmem.ReadingAt(s.Sched, s.At), s.State != sample.Running)
	}
	if th.Observed.UsesSamples() {
		s.OnCPU, s.Basis = false, sample.Exact
	}
	o.stops.countObservation(th.Observed, s)
	inTurn := s.How == observe.ByPassiveRead && th.Observed.WaitsForRuntimeLock(&s.Call)
	o.preferCPUOf(th, s.Sched, s.OnCPU || inTurn, s.State == sample.Running, s.How)
	o.gaps.endGap(s.At)
	th.observedTick = o.Tick.Number
	o.Backoff.NoteObservation(&th.Backoff, s.State != sample.Running, th.FromZero, s.Sched)
	o.AddSample(handover.Event{
		Kind: handover.Sampled, Thread: th.Handover, RawSample: s, UnchangedBefore: th.Backoff.TakeUnchanged(),
		Length:     o.standsFor(th, s),
		WalkAtOnce: s.OutlineFailed() || s.State == sample.Running && th.proc.Handover.CodeChanging(s.At),
	})
	if th.EnginePart != nil {
		th.EnginePart.AfterObservation(s)
	}
}

// standsFor returns the time for which an observation stands, ns, without the tracer's own work or the stop.
func (o *observations) standsFor(th *thread, s *observe.RawSample) int64 {
	if !th.FromZero || s.How != observe.ByStop {
		return o.interval
	}
	return int64(float64(o.interval) * (1 - o.own.lostPart(o.Tick.Number, s.StopTime, o.Tick.Period)))
}

// preferCPUOf makes the tracer sleep on the CPU of a thread whose other samples are not exact ([skid.CPUChooser]).
func (o *observations) preferCPUOf(th *thread, s procmem.SchedStat, onCPU, running bool, how observe.How) {
	if th.Observed.UsesSamples() {
		return
	}
	hides := th.hidden.Update(int64(s.CPU), onCPU, running, max(o.Tick.Period, o.interval))
	if hides || how == observe.ByStop && th.Observed.ManyCalls() {
		o.stops.preferCPUOf(th.Observed)
	}
}

func (o *observations) fail(th *thread, err error) {
	reason := observe.Reason(err)
	o.counts.noteFailure(reason)
	o.noteChanged(th)
	switch {
	case reason != refusal.Exited:
	case th.isFirst() || !th.proc.isSettled(): // the next listing decides ([execs])
		th.Observed.ForgetLast(th.accountedClocks)
		th.proc.list.hintChange()
	default:
		o.tracked.endThread(th)
	}
}

func (o *observations) noteChanged(th *thread) {
	o.counts.noteRan(o.Backoff.NoteChanged(&th.Backoff))
}
