// SPDX-License-Identifier: Apache-2.0

package accountant

import (
	"prywalk/internal/booking"
	"prywalk/internal/handover"
	"prywalk/internal/runstats"
)

// endThread ends a thread's account.
func (a *Accountant) endThread(e *handover.Event) {
	th := a.thread(e.Thread)
	emit := a.emitter(th)
	if !e.End.Alive {
		th.proc.book.Decide(&th.book, a.gaps, emit)
	}
	a.extend(e)
	th.book.LeftAlone(&e.End.Left, a.gaps, emit)
	if e.End.Alive && !th.book.Begun() { // it could never be looked at
		a.open(th)
	}
	th.proc.book.EndThread(&th.book, &e.End.End, emit)
	a.finish(th, e.End.Alive)
	if e.End.Alive {
		a.suspects.note(th)
	}
	delete(a.threads, th)
	th.proc.waits.forget(th)
}

// finish books what is left of a thread. Of one that has ended the kernel has no name, but of a process's first one.
func (a *Accountant) finish(th *threadAccount, alive bool) {
	if !th.book.Begun() {
		return
	}
	if !th.given && (alive || th.TID == th.proc.Target.PID) { // nothing that can hang is read any more
		th.renameByKernel()
	}
	th.proc.book.FinishThread(&th.book, a.gaps, a.emitter(th))
	a.rates.add(runstats.ThreadRate{
		PID: th.proc.Target.PID, TID: th.TID, Name: th.name, Looks: th.book.Looks, Seconds: seconds(th.book.Observed()),
	})
}

// exec deals with a process whose first thread has changed its name: what was seen
// before is booked under the old one, and the mappings are read anew.
func (a *Accountant) exec(e *handover.Event) {
	th, p := a.thread(e.Thread), a.process(e.Proc)
	if th.book.Begun() {
		th.book.Cut(a.gaps, a.emitter(th))
	}
	th.named, th.given = 0, false
	th.renameByKernel()
	a.unwind.books.lend()
	p.refresh(e.At)
	a.unwind.books.back()
	p.comm = th.name
	p.waits.execed()
}

// endProcess ends a process's account: it books the processor time that belongs to no
// look, and lets go of the process.
func (a *Accountant) endProcess(p *processAccount, end *handover.ProcessEnd, now int64) {
	if p.closed {
		return
	}
	p.closed = true
	delete(a.procs, p)
	if a.Selected {
		// The last looks at its threads may be later than the last reading of its clock.
		a.totals.target += max(end.Charged, p.book.Used())
	} else {
		unseen := p.book.Unseen(end.Ended)
		a.totals.target += p.book.Used() + unseen
		to := a.waiterOf(p)
		// Its last moments are in its parent's growth.
		if more := end.Counted - p.book.Used() - unseen; to != nil && more > 0 {
			to.book.ChildCounted(orUnknown(p.comm), more, true, true)
		}
		if to != nil && p.book.PassTo(&to.book, unseen, a.Period, orUnknown(p.comm)) {
			p.waiter = to
		} else {
			a.bookExited(p, unseen, now)
		}
		if p.member != nil {
			a.family.Leave(p.member, end.Before+p.book.Used()+unseen, now)
		}
	}
	a.unwind.forgetModules(p, nil)
	a.Close(p.Target)
}

// waiterOf gives the process that gets the time of a child: samples of and looks at others of its children have a claim
// on it. nil: its time stays its own.
func (a *Accountant) waiterOf(p *processAccount) *processAccount {
	if a.Period == 0 || p.member == nil || !p.FromStart {
		return nil
	}
	return a.byMember[p.member.Parent()]
}

// bookExited books the processor time of a process that belongs to no look.
func (a *Accountant) bookExited(p *processAccount, unseen, now int64) {
	p.book.Exited(unseen, now, a.estimate(p))
}

// estimate gives what books such time.
func (a *Accountant) estimate(p *processAccount) func(booking.Span) {
	return func(s booking.Span) {
		if s.Leaf == "" { // under the stacks of looks at others like them
			a.totals.estimated += s.CPU
		}
		a.add(p, nil, &s)
	}
}

// passedTo gives the process that books what children of another one used, nil if that one does so itself. It may have
// become another's child since, and the account of the one before is closed: what came there now would be lost.
func (a *Accountant) passedTo(p *processAccount) *processAccount {
	if to := p.waiter; to != nil && a.byMember[to.member] == to {
		return to
	}
	return nil
}

// bookChildren books what children of a process used that nobody met. last: no more of it is to come.
func (a *Accountant) bookChildren(p *processAccount, ns, now int64, last bool) {
	a.totals.target += ns
	emit := func(s booking.Span) {
		if s.Leaf != booking.ShortLivedChildren { // under the stacks of samples of them
			a.totals.estimated += s.CPU
		}
		a.add(p, nil, &s)
	}
	if !last {
		p.book.ChildrenSoFar(ns, now, emit)
		return
	}
	delete(a.byMember, p.member)
	if to := a.passedTo(p); to != nil {
		p.book.PassChildrenTo(&to.book, ns)
		return
	}
	p.book.Children(ns, now, emit)
}

// CloseAccounts books all that is open when the tracer has sent its last
// event: nothing, unless it broke down.
func (a *Accountant) CloseAccounts(now int64) {
	for th := range a.threads {
		a.finish(th, true)
	}
	a.unwind.managed.close()
	if a.lockNames != nil {
		_ = a.lockNames.Close()
		a.lockNames = nil
	}
	clear(a.threads)
	for p := range a.procs {
		a.endProcess(p, &handover.ProcessEnd{}, now)
	}
	if a.family != nil {
		a.family.Close()
	}
}
