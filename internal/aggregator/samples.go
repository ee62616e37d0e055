// SPDX-License-Identifier: Apache-2.0

package aggregator

import (
	"cmp"

	"prywalk/frames"
	"prywalk/internal/attribute"
	"prywalk/internal/observe"
	"prywalk/internal/procmem"
	"prywalk/internal/profile"
	"prywalk/internal/sample"
	"prywalk/internal/target"
)

func (a *Aggregator) attributeSample(e *target.Event) {
	th, s := a.thread(e.Thread), e.RawSample
	a.beginThreadState(th)
	id, end := a.stacks.stackOfSample(th, e.Program, s)
	a.out.totals.addStack(end, s.How)
	a.counts.walked.Store(a.out.totals.stacks)
	ends := &a.out.totals.walkEnds
	a.counts.complete.Store(ends[frames.StopRoot] + ends[frames.StopGuessedRoot])
	if s.State != sample.Running && s.At-th.FirstListedAt < target.NameEvery {
		th.nameReadAt = 0 // it may have set its name before a long sleep
	}
	a.ownership.reading(func() { th.rename(s.At) })
	waitsFor, owner := a.explainer.explain(th, s, id)
	th.lock = lastLock{waitsFor, owner}
	a.sampled = attribute.Sampled{
		Process: th.proc.ID, Thread: th.ID, CreatedAt: th.CreatedAt, NotStopped: s.NotStopped,
		Sample: attribute.Sample{
			At: procmem.ReadingAt(s.Sched, s.At),
			Place: attribute.Place{
				Stack: id, State: s.State, Wait: s.WaitReason(), WalkEnd: end, WaitsFor: waitsFor, Owner: owner,
				Labels: a.labelsOf(th, s),
			},
			OnCPU: s.OnCPU, Basis: s.Basis, UnchangedBefore: e.UnchangedBefore, StandsFor: e.StandsFor,
			FromKernel: s.How == observe.ByKernelSample, KernelTime: s.KernelTime, CallTime: s.CallTime,
		},
	}
	a.attribute(&a.sampled)
	a.Pool.Put(s)
	e.RawSample = nil
}

func (a *Aggregator) attributeUnassigned(e *target.Event) {
	p := a.process(e.Proc)
	th := p.untrackedState()
	if e.Thread != nil {
		th = a.thread(e.Thread)
	}
	a.attributeUnassignedTo(th, e, "", false)
}

func (a *Aggregator) attributeUnassignedOfChild(e *target.Event) {
	p, name := a.process(e.Proc), programOf(e.Program)
	if e.RawSample == nil {
		place := attribute.Place{State: sample.Running, Program: name, ChildState: e.ChildState}
		if e.ChildState == attribute.ChildInExec || e.ChildState == attribute.ChildInExit {
			place.Stack = a.stacks.execOrExitStack(e.ChildState, a.opts.KernelStacks)
		}
		a.attribute(&attribute.UnassignedSample{Process: p.ID, Place: place, At: e.At, StandsFor: e.StandsFor, OfChild: true})
		return
	}
	a.attributeUnassignedTo(p.untrackedState(), e, name, true)
}

// attributeUnassignedTo walks the sample as one of th, or of the program's code owner.
func (a *Aggregator) attributeUnassignedTo(th *threadState, e *target.Event, name string, ofChild bool) {
	s, program := e.RawSample, e.Program
	if program != nil && program.CodeOwner != nil {
		th, program = a.process(program.CodeOwner).untrackedState(), nil
	}
	id, end := a.stacks.stackOfSample(th, program, s)
	a.out.totals.addStack(end, s.How)
	a.countUntrackedWalk(e, end)
	a.attribute(&attribute.UnassignedSample{
		Process: e.Proc.ID, Place: attribute.Place{Stack: id, State: sample.Running, WalkEnd: end, Program: name},
		At: s.At, StandsFor: e.StandsFor, OfChild: ofChild,
	})
	a.Pool.Put(s)
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

func (a *Aggregator) labelsOf(th *threadState, s *observe.RawSample) string {
	if !a.opts.Tasks || s.How != observe.ByStop {
		return ""
	}
	a.ownership.beginRead()
	defer a.ownership.endRead()
	return profile.LabelText(th.proc.Target.Runtimes().Labels(&s.Regs, &s.Mem))
}
