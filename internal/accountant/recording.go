// SPDX-License-Identifier: Apache-2.0

package accountant

import (
	"prywalk/internal/booking"
	"prywalk/internal/procmem"
	"prywalk/internal/profile"
)

// emitter gives the function that books a thread's spans.
func (a *Accountant) emitter(th *threadAccount) func(booking.Span) {
	a.cur = th
	return a.emitOne
}

func (a *Accountant) emit(s booking.Span) { a.add(a.cur.proc, a.cur, &s) }

// add adds a span to the recording. All time comes this way. th is nil where it is of no thread in particular.
func (a *Accountant) add(p *processAccount, th *threadAccount, s *booking.Span) {
	a.totals.book(s)
	i := a.interval(p, th, s)
	a.Builder.Add(i)
	if a.Watch != nil {
		a.Watch.Add(i)
	}
}

// interval gives a span as the recording has it.
func (a *Accountant) interval(p *processAccount, th *threadAccount, s *booking.Span) profile.Interval {
	i := profile.Interval{
		Stack: a.stackOf(s), PID: p.Target.PID, NSPID: p.nsPID, Comm: p.comm, Thread: booking.Exited,
		State: s.State.String(), Wait: s.Wait, WaitsFor: s.WaitsFor, Owner: s.Owner, End: a.unix.Of(s.End),
		Samples: s.Samples, Wall: s.Wall, RunQueue: s.RunQueue, CPU: s.CPU,
	}
	switch {
	case s.Program != "":
		i.Thread = booking.ChildrenOf(s.Program)
	case s.Leaf == booking.ShortLivedChildren:
		i.Thread = booking.Children
	}
	if th != nil {
		i.TID, i.NSTID, i.Thread, i.Role = th.TID, th.nsTID, th.name, th.role
	}
	return i
}

// stackOf gives the stack that a span is booked under.
func (a *Accountant) stackOf(s *booking.Span) profile.StackID {
	switch s.Leaf {
	case booking.NotObserved, booking.ExitedUnseen, booking.ShortLivedChildren: // no stack
		return a.Builder.Intern([]profile.Loc{{Synthetic: s.Leaf}})
	}
	return a.unwind.withLeaf(s.Stack, s.Leaf)
}

// cut books what is open, so that a recording written now has it.
func (a *Accountant) cut() {
	for th := range a.threads {
		th.book.Cut(a.gaps, a.emitter(th))
	}
}

// # Who watches
//
// A watcher gets each interval when it is final. A sleeper's may take days, so that it is also told what goes on. For
// that nobody is looked at: the tracer tells which threads it has found unchanged, as for a checkpoint. What is open is
// told and stays open, so that a recording beside it has the intervals that it has without.

// refresh tells the watcher what goes on.
func (a *Accountant) refresh(at int64) {
	began := procmem.Now()
	if a.Watch != nil {
		a.Watch.Refresh(a.unix.Of(at), a.goesOn)
	}
	a.Requests.Refresh.Done(procmem.Now()-began, false)
}

// goesOn gives the spans that are open, as intervals. The accounts stay as they are.
func (a *Accountant) goesOn(yield func(profile.Interval) bool) {
	for th := range a.threads {
		more := true
		th.book.Open(func(s booking.Span) { more = yield(a.interval(th.proc, th, &s)) })
		if !more {
			return
		}
	}
}
