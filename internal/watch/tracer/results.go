// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"prywalk/internal/base/errs"
	"prywalk/internal/base/sample"
	"prywalk/internal/host/procmem"
	"prywalk/internal/watch/observe"
	"prywalk/internal/watch/target"
)

// results takes what observations have found, at once or in a later stop, and reports it.
type results struct {
	shared *target.SharedState
	pace   *pacer
	counts *counts
	gaps   *gapDetector
}

func (r *results) takeUnchanged(th *target.Thread, clocks procmem.SchedStat) {
	th.AccountedClocks = clocks
	if th.EnginePart != nil {
		th.EnginePart.ClocksRead(procmem.ReadingAt(clocks, int64(r.shared.Tick.At)))
	}
	th.ObservedTick = r.shared.Tick.Number
	r.counts.countUnchanged(r.shared.Backoff.RecordUnchanged(th))
}

// takeSample reports a raw sample, unless it may be of another thread.
func (r *results) takeSample(th *target.Thread, s *observe.RawSample) {
	if th.MayBeExecCaller(s.Sched, s) {
		r.shared.Pool.Put(s)
		r.postpone(th)
		return
	}
	th.AccountedClocks = s.Sched
	if th.EnginePart != nil {
		th.EnginePart.ClocksRead(procmem.ReadingAt(s.Sched, int64(s.At)))
	}
	if th.Observed.IsKernelSampled() {
		s.OnCPU, s.Skids = false, false
	}
	if s.How == observe.ByStop {
		s.Stop.StopTime = r.pace.chargeStop(s.Stop.StopTime)
	}
	r.counts.countSample(th.Observed, s)
	r.gaps.endGap(s.At)
	th.ObservedTick = r.shared.Tick.Number
	r.shared.Backoff.RecordObservation(th, s.State != sample.Running, th.FromZero, s.Sched)
	if th.EnginePart != nil {
		th.EnginePart.AfterObservation(s)
	}
	r.shared.AddSample(target.Event{
		Thread: th, RawSample: s, UnchangedBefore: th.TakeUnchanged(),
		StandsFor:  r.shared.Tick.StandsFor,
		WalkAtOnce: s.State == sample.Running && th.Proc.WalkAtOnce(s.At),
	})
}

// postpone leaves an observation to a later tick, which finds whether another thread has called exec.
func (r *results) postpone(th *target.Thread) {
	th.Observed.ResetBaseline(th.AccountedClocks)
	r.counts.countPostponed()
	th.Proc.Threads.HintChange()
}

func (r *results) takeFailure(th *target.Thread, err error) {
	reason := observe.Reason(err)
	r.counts.countFailure(reason)
	r.recordChanged(th)
	switch {
	case reason != errs.Exited:
	case th.IsFirst() || !th.Proc.IsSettled(): // the next listing decides ([target.Process.IsSettled])
		th.Observed.ResetBaseline(th.AccountedClocks)
		th.Proc.Threads.HintChange()
	default:
		r.endThread(th)
	}
}

func (r *results) takeLostStops(th *target.Thread) {
	for _, lost := range th.Observed.TakeLostStops() {
		lost.StopTime = r.pace.chargeStop(lost.StopTime)
		r.counts.countLostStop(th.Observed, &lost)
	}
}

func (r *results) recordChanged(th *target.Thread) {
	r.counts.countRan(r.shared.Backoff.RecordChanged(th))
}

// # Ends

// endThread does nothing while a stop is pending.
func (r *results) endThread(th *target.Thread) {
	if th.Gone || th.Observed.Pending() {
		return
	}
	if th.FromZero {
		th.Proc.RequestEndedReport()
	}
	end := &th.End
	r.dropThread(th, end.Alive)
	end.GapThreshold = int64(r.gaps.threshold())
	observedAtEnd := th.ObservedTick == r.shared.Tick.Number
	if !end.Alive || observedAtEnd {
		end.AtEnd = sample.Reading{}
	}
	r.shared.Out.Add(th.HasEnded(th.Observed.TakeNotStopped()))
}

// dropThread drops a thread. alive means that its clocks go on.
func (r *results) dropThread(th *target.Thread, alive bool) {
	r.counts.countRan(r.shared.Backoff.Forget(th))
	if th.EnginePart != nil {
		th.EnginePart.Ended(alive)
	}
	th.Observed.Close()
	th.Proc.Threads.Remove(th)
}

// reportUnchanged reports ticks that no sample follows.
func (r *results) reportUnchanged(th *target.Thread) {
	if th.Unchanged.Ticks > 0 {
		r.shared.Out.Add(target.Event{Thread: th, UnchangedBefore: th.TakeUnchanged()})
	}
}
