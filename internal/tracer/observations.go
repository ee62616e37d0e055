// SPDX-License-Identifier: Apache-2.0

package tracer

import (
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
	*state
	stops   *stops
	reports *reports
	tracked *tracked
	own     ownWork
}

func (o *observations) observe(th *thread) {
	o.stops.drain()
	if !o.Ending && !o.quota.AdmitObservation() || !o.stops.roomForCopy() || th.Observed.Pending() {
		if !th.Backoff.BackedOff() { // else its next observation counts this tick
			o.counts.queued++
		}
		return
	}
	o.counts.attempted++
	o.reports.noteObservation(procmem.Now())
	if th.EnginePart != nil {
		th.EnginePart.BeforeObservation()
	}
	ptrace.Pin() // no preemption after the interrupt
	defer ptrace.Unpin()
	outcome, raw, err := o.Observer.Begin(th.Observed)
	switch {
	case err != nil:
		o.fail(th, err)
	case outcome == observe.Unchanged:
		if th.EnginePart != nil {
			th.EnginePart.ClocksRead(procmem.ReadingAt(th.Observed.LastSched(), o.Tick.At), th.Observed.Asleep())
		}
		th.observedTick = o.counts.ticks
		o.counts.unchanged++
		o.counts.inferred += o.Backoff.NoteUnchanged(&th.Backoff)
	case outcome == observe.LeftToSamples:
		o.counts.attempted--
		o.noteChanged(th)
		th.EnginePart.FoundRunning() // its engine observes it
	case outcome == observe.Queued:
		o.counts.attempted--
		o.counts.queued++
		o.noteChanged(th)
	case outcome == observe.Done:
		o.noteChanged(th)
		o.finish(th, raw)
	default:
		o.stops.targets[th.Observed] = stopTarget{thread: th}
		o.noteChanged(th)
	}
	if err != nil || outcome != observe.LeftToSamples {
		th.Steady = schedule.Steady{}
	}
	o.stops.serve(err == nil && outcome == observe.Pending && !th.Observed.AwaitsTracer())
}

func (o *observations) finishPending(th *thread, s *observe.RawSample, err error) {
	if err != nil {
		o.fail(th, err)
		return
	}
	o.finish(th, s)
}

func (o *observations) finish(th *thread, s *observe.RawSample) {
	if th.EnginePart != nil {
		th.EnginePart.ClocksRead(procmem.ReadingAt(s.Sched, s.At), s.State != sample.Running)
	}
	if th.Observed.UsesSamples() {
		s.OnCPU, s.Basis = false, sample.Exact
	}
	o.countObservation(th.Observed, s)
	inTurn := s.How == observe.ByPassiveRead && th.Observed.WaitsForRuntimeLock(&s.Call)
	o.preferCPUOf(th, s.Sched, s.OnCPU || inTurn, s.State == sample.Running, s.How)
	o.reports.gapIfEnded(s.At)
	th.observedTick = o.counts.ticks
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

// preferCPUOf makes the tracer sleep on the CPU of a thread whose other samples are not exact ([skid.CPUChooser]).
func (o *observations) preferCPUOf(th *thread, s procmem.SchedStat, onCPU, running bool, how observe.How) {
	if th.Observed.UsesSamples() {
		return
	}
	hides := th.hidden.Update(int64(s.CPU), onCPU, running, max(o.ticks.Period(), o.tickState.interval))
	if hides || how == observe.ByStop && th.Observed.ManyCalls() {
		o.cpus.Prefer(o.Observer.LastCPU(th.Observed))
	}
}

func (o *observations) fail(th *thread, err error) {
	reason := observe.Reason(err)
	o.counts.addFailure(reason)
	o.noteChanged(th)
	if reason == refusal.Gone {
		o.tracked.endThread(th)
	}
}

func (o *observations) noteChanged(th *thread) { o.counts.unseen += o.Backoff.NoteChanged(&th.Backoff) }
