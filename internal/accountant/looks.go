// SPDX-License-Identifier: Apache-2.0

package accountant

import (
	"cmp"

	"prywalk/frames"
	"prywalk/internal/attribute"
	"prywalk/internal/handover"
	"prywalk/internal/look"
	"prywalk/internal/procmem"
	"prywalk/internal/sample"
)

// beginProcess begins a process's account.
func (a *Accountant) beginProcess(p *processAccount) {
	p.Comm = p.Target.Comm
	p.nsPID = procmem.InnerID(p.Target.PID)
	a.attribute(&attribute.ProcessStarted{
		Process: p.ID, PID: p.Target.PID, Start: p.Target.StartTime, Parent: p.Parent, Since: p.Since,
		FromStart: p.FromStart, Childless: a.Launched && p.Parent == 0,
	})
}

// look unwinds a shot and books the interval that it ends.
func (a *Accountant) look(e *handover.Event) {
	th, s := a.thread(e.Thread), e.Shot
	a.open(th)
	id, stop := a.unwindLook(th, e)
	a.totals.stack(stop, s.How)
	a.published.stacks.Store(a.totals.stacks)
	a.published.whole.Store(a.totals.stops[frames.StopRoot])
	if s.State != sample.Running && s.At-th.Met < handover.NameEvery {
		th.named = 0 // it may have named itself, and sleep for good now
	}
	a.rename(th, s.At)
	waitsFor, owner := a.explain(th, s, id)
	th.lock = lastLock{waitsFor, owner}
	a.observed = attribute.Observed{
		Process: th.proc.ID, Task: th.ID, BornAt: th.BornAt, Left: s.Left,
		Look: attribute.Look{
			At: procmem.ReadingAt(s.Sched, s.At), Seen: attribute.Seen{Stack: id, State: s.State, Wait: s.Wait(), Stop: stop,
				WaitsFor: waitsFor, Owner: owner},
			OnCPU: s.OnCPU, Basis: s.Basis, Before: e.Before, Apart: e.Length, Sampled: s.How == look.BySample,
		},
	}
	a.attribute(&a.observed)
	a.Pool.Put(s)
	e.Shot = nil
}

// unwindLook walks the shot of a look. Ran is what the process ran then, if it was not opened yet.
func (a *Accountant) unwindLook(th *threadAccount, e *handover.Event) (sample.StackID, frames.StopReason) {
	if e.Ran != nil {
		return a.unwind.unwindSample(th, e.Ran, e.Shot)
	}
	return a.unwind.unwind(th, e.Shot)
}

// rename reads a thread's name, if it is time to. A run-time system reads memory for it.
func (a *Accountant) rename(th *threadAccount, now int64) {
	a.unwind.books.lend()
	th.rename(now)
	a.unwind.books.back()
}

// claim unwinds a sample of a thread that has ended, and notes its claim.
func (a *Accountant) claim(e *handover.Event) {
	p := a.process(e.Proc)
	th := p.stranger()
	if e.Thread != nil {
		th = a.thread(e.Thread)
	}
	id, stop := a.unwindSample(th, e.Ran, e.Shot)
	a.judgeUnmet(e, stop)
	a.attribute(&attribute.Claimed{
		Process: p.ID, Seen: attribute.Seen{Stack: id, State: sample.Running, Stop: stop}, At: e.Shot.At, Length: e.Length,
	})
	a.Pool.Put(e.Shot)
	e.Shot = nil
}

// claimOfChild unwinds a sample of a child that nobody met, and notes its claim. If there is no shot, a tick has found
// the child running, and only its program is known.
func (a *Accountant) claimOfChild(e *handover.Event) {
	p, name := a.process(e.Proc), a.programOf(e.Ran)
	if e.Shot == nil {
		where := attribute.Seen{State: sample.Running, Program: name, Met: e.Met}
		if e.Met == attribute.MetInExec || e.Met == attribute.MetInExit {
			where.Stack = a.unwind.inKernel(e.Met, a.Kernel)
		}
		a.attribute(&attribute.Claimed{Process: p.ID, Seen: where, At: e.At, Length: e.Length, OfChild: true})
		return
	}
	id, stop := a.unwindSample(p.stranger(), e.Ran, e.Shot)
	a.judgeUnmet(e, stop)
	a.attribute(&attribute.Claimed{
		Process: p.ID, Seen: attribute.Seen{Stack: id, State: sample.Running, Stop: stop, Program: name}, At: e.Shot.At,
		Length: e.Length, OfChild: true,
	})
	a.Pool.Put(e.Shot)
	e.Shot = nil
}

// unwindSample walks a sample of a thread, or of what a process ran that nobody met: g, if it is not nil.
func (a *Accountant) unwindSample(th *threadAccount, g *handover.Program, s *look.Shot) (sample.StackID,
	frames.StopReason) {
	if g != nil && g.Of != nil {
		th, g = a.process(g.Of).stranger(), nil
	}
	id, stop := a.unwind.unwindSample(th, g, s)
	a.totals.stack(stop, s.How)
	return id, stop
}

// programOf gives the name of what a child ran that nobody met: its own, or that of the process whose code it ran.
func (a *Accountant) programOf(g *handover.Program) string {
	if g.Of != nil {
		return orUnknown(g.Of.Comm)
	}
	return orUnknown(g.Name)
}

// unknownProgram stands for the name of a program that has none.
const unknownProgram = "?"

func orUnknown(program string) string { return cmp.Or(program, unknownProgram) }

// seenRunning begins the account of a thread of which no stack is known yet.
func (a *Accountant) seenRunning(e *handover.Event) {
	th := a.thread(e.Thread)
	a.open(th)
	a.attribute(&attribute.FoundRunning{Process: th.proc.ID, Task: th.ID, BornAt: th.BornAt, Now: e.Now})
}

// open begins a thread's account, once.
func (a *Accountant) open(th *threadAccount) {
	if th.open {
		return
	}
	th.open = true
	defer a.met(th)
	if th.proc.nsPID != 0 {
		th.nsTID = procmem.InnerID(th.TID)
	}
}
