// SPDX-License-Identifier: Apache-2.0

package aggregator

import (
	"cmp"

	"prywalk/frames"
	"prywalk/internal/attribute"
	"prywalk/internal/handover"
	"prywalk/internal/observe"
	"prywalk/internal/procmem"
	"prywalk/internal/sample"
)

func (a *Aggregator) beginProcess(p *processAccount) {
	p.Comm = p.Target.Comm
	if inner := procmem.InnerTID(p.Target.PID); inner != p.Target.PID {
		p.innerPID = inner
	}
	a.attribute(&attribute.ProcessStarted{
		Process: p.ID, PID: p.Target.PID, Start: p.Target.StartTime, Parent: p.Parent, Since: p.Since,
		FromStart: p.FromStart, Childless: a.Launched && p.Parent == 0,
	})
}

func (a *Aggregator) attributeSample(e *handover.Event) {
	th, s := a.thread(e.Thread), e.RawSample
	a.beginAccount(th)
	id, stop := a.stacks.unwindObserved(th, e)
	a.totals.addStack(stop, s.How)
	a.walkedStacks.Store(a.totals.stacks)
	a.completeStacks.Store(a.totals.stops[frames.StopRoot])
	if s.State != sample.Running && s.At-th.Found < handover.NameEvery {
		th.nameReadAt = 0 // it may have set its name before a long sleep
	}
	a.stacks.rename(th, s.At)
	waitsFor, owner := a.waits.explain(th, s, id)
	th.lock = lastLock{waitsFor, owner}
	a.observed = attribute.Observed{
		Process: th.proc.ID, Thread: th.ID, CreatedAt: th.CreatedAt, NotStopped: s.NotStopped,
		Sample: attribute.Sample{
			At: procmem.ReadingAt(s.Sched, s.At),
			Place: attribute.Place{
				Stack: id, State: s.State, Wait: s.WaitReason(), Stop: stop, WaitsFor: waitsFor, Owner: owner,
				Labels: a.labelsOf(th, s),
			},
			OnCPU: s.OnCPU, Basis: s.Basis, UnchangedBefore: e.UnchangedBefore, SinceLastTick: e.Length,
			FromKernel: s.How == observe.BySample,
		},
	}
	a.attribute(&a.observed)
	a.Pool.Put(s)
	e.RawSample = nil
}

func (b *stackBuilder) unwindObserved(th *threadAccount, e *handover.Event) (sample.StackID, frames.StopReason) {
	if e.Program != nil {
		return b.unwindSample(th, e.Program, e.RawSample)
	}
	return b.unwind(th, e.RawSample)
}

func (b *stackBuilder) rename(th *threadAccount, now int64) {
	b.lock.beginRead()
	th.rename(now)
	b.lock.endRead()
}

// attributeUnassigned passes on a sample of an ended thread, with weight e.Length.
func (a *Aggregator) attributeUnassigned(e *handover.Event) {
	p := a.process(e.Proc)
	th := p.untrackedAccount()
	if e.Thread != nil {
		th = a.thread(e.Thread)
	}
	id, stop := a.unwindSample(th, e.Program, e.RawSample)
	a.countUntrackedWalk(e, stop)
	a.attribute(&attribute.UnassignedSample{
		Process: p.ID, Place: attribute.Place{Stack: id, State: sample.Running, Stop: stop}, At: e.RawSample.At,
		Length: e.Length,
	})
	a.Pool.Put(e.RawSample)
	e.RawSample = nil
}

// attributeUnassignedOfChild attributes a sample of an untracked child to the unobserved time of its waiter's children.
// Without a raw sample only the child's program is known.
func (a *Aggregator) attributeUnassignedOfChild(e *handover.Event) {
	p, name := a.process(e.Proc), programOf(e.Program)
	if e.RawSample == nil {
		where := attribute.Place{State: sample.Running, Program: name, Found: e.Found}
		if e.Found == attribute.FoundInExec || e.Found == attribute.FoundInExit {
			where.Stack = a.stacks.execOrExitStack(e.Found, a.Kernel)
		}
		a.attribute(&attribute.UnassignedSample{Process: p.ID, Place: where, At: e.At, Length: e.Length, OfChild: true})
		return
	}
	id, stop := a.unwindSample(p.untrackedAccount(), e.Program, e.RawSample)
	a.countUntrackedWalk(e, stop)
	a.attribute(&attribute.UnassignedSample{
		Process: p.ID, Place: attribute.Place{Stack: id, State: sample.Running, Stop: stop, Program: name},
		At: e.RawSample.At, Length: e.Length, OfChild: true,
	})
	a.Pool.Put(e.RawSample)
	e.RawSample = nil
}

// unwindSample walks a sample of a thread, or of program g of an untracked process.
func (a *Aggregator) unwindSample(th *threadAccount, g *handover.Program, s *observe.RawSample) (sample.StackID,
	frames.StopReason) {
	if g != nil && g.Of != nil {
		th, g = a.process(g.Of).untrackedAccount(), nil
	}
	id, stop := a.stacks.unwindSample(th, g, s)
	a.totals.addStack(stop, s.How)
	return id, stop
}

// programOf names an untracked child's program: its own, or that of the process whose code it ran.
func programOf(g *handover.Program) string {
	if g.Of != nil {
		return orUnknown(g.Of.Comm)
	}
	return orUnknown(g.Name)
}

const unknownProgram = "?"

func orUnknown(program string) string { return cmp.Or(program, unknownProgram) }

func (a *Aggregator) beginThread(e *handover.Event) {
	th := a.thread(e.Thread)
	a.beginAccount(th)
	a.attribute(&attribute.ThreadStarted{Process: th.proc.ID, Thread: th.ID, CreatedAt: th.CreatedAt, Now: e.Reading})
}

func (a *Aggregator) beginAccount(th *threadAccount) {
	if th.begun {
		return
	}
	th.begun = true
	defer a.waits.add(th)
	if th.proc.innerPID != 0 { // the process is in a pid namespace of its own
		th.innerTID = procmem.InnerTID(th.TID)
	}
}
