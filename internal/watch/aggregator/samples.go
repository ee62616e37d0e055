// SPDX-License-Identifier: Apache-2.0

package aggregator

import (
	"cmp"

	"prywalk/frames"
	"prywalk/internal/account/attribute"
	"prywalk/internal/base/sample"
	"prywalk/internal/host/procmem"
	"prywalk/internal/store/profile"
	"prywalk/internal/watch/observe"
	"prywalk/internal/watch/target"
)

func (a *Aggregator) attributeObservation(e *target.Event) {
	if e.RawSample == nil {
		a.unchanged = attribute.FoundUnchanged{Thread: e.Thread.ID, UnchangedBefore: e.UnchangedBefore}
		a.attribute(&a.unchanged)
		return
	}
	p, th, s := a.states.process(e.Thread.Proc), a.states.thread(e.Thread), e.RawSample
	a.beginThread(p, th)
	id, end := a.stacks.stackOfSample(p, th, e.Program, s)
	a.out.totals.addStack(end, s.How)
	a.counts.walked.Store(a.out.totals.stacks)
	ends := &a.out.totals.walkEnds
	a.counts.complete.Store(ends[frames.StopRoot] + ends[frames.StopGuessedRoot])
	if s.State != sample.Running && s.At.Sub(th.FirstListedAt) < target.NameEvery {
		th.Walk.NameReadAt = 0 // it may have set its name before a long sleep
	}
	rename(th, s.At)
	th.Walk.WaitsFor, th.Walk.Owner = a.explainer.explain(p, th, s, id)
	a.sampled = attribute.Sampled{
		Process: th.Proc.ID, Thread: th.ID, CreatedAt: int64(th.CreatedAt), NotStopped: s.NotStopped,
		Sample: attribute.Sample{
			At: procmem.ReadingAt(s.Sched, int64(s.At)),
			Place: attribute.Place{
				Stack: id, State: s.State, Wait: s.WaitReason(), WalkEnd: end, WaitsFor: th.Walk.WaitsFor,
				Owner: th.Walk.Owner, Labels: a.labelsOf(th, s) + p.threadLocks(&s.Mem) + p.goroutineStack(a.stacks, end),
			},
			OnCPU: s.OnCPU, Skids: s.Skids, UnchangedBefore: e.UnchangedBefore, StandsFor: int64(e.StandsFor),
			FromKernel: s.How == observe.ByKernelSample, KernelTime: s.KernelTime, CallTime: s.CallTime,
		},
	}
	a.attribute(&a.sampled)
	a.common.Pool.Put(s)
	e.RawSample = nil
}

func (a *Aggregator) attributeUnassigned(e *target.Event, u *attribute.UnassignedSample) {
	if u.OfChild {
		u.Place.Program = programOf(e.Program)
	}
	if e.RawSample != nil {
		a.walkUnassigned(e, &u.Place)
	}
	a.attribute(u)
}

// walkUnassigned walks the sample as one of e.Thread, of the program's code owner, or of any thread of e.Proc.
func (a *Aggregator) walkUnassigned(e *target.Event, place *attribute.Place) {
	s, program := e.RawSample, e.Program
	p := a.states.process(e.Proc)
	th := e.Thread
	switch {
	case program != nil && program.CodeOwner != nil:
		p, program = a.states.process(program.CodeOwner), nil
		th = p.untrackedState()
	case th != nil:
		a.states.thread(th)
	default:
		th = p.untrackedState()
	}
	place.Stack, place.WalkEnd = a.stacks.stackOfSample(p, th, program, s)
	a.out.totals.addStack(place.WalkEnd, s.How)
	a.common.Pool.Put(s)
	e.RawSample = nil
}

// programOf names an untracked child's program.
func programOf(p *target.Program) string {
	name := p.Name
	if p.CodeOwner != nil {
		name = p.CodeOwner.Comm
	}
	return cmp.Or(name, attribute.UnknownProgram)
}

// labelsOf returns the labels of the thread's request, else those of its task.
func (a *Aggregator) labelsOf(th *target.Thread, s *observe.RawSample) string {
	runtimes := th.Proc.Code.Runtimes()
	labels := runtimes.Context(th.Walk.InnerTID, &s.Regs, &s.Mem)
	if labels == nil && a.opts.Tasks && s.How == observe.ByStop {
		labels = runtimes.Labels(&s.Regs, &s.Mem)
	}
	return profile.WithoutChainLabels(profile.LabelText(labels))
}
