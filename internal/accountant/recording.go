// SPDX-License-Identifier: Apache-2.0

package accountant

import (
	"prywalk/internal/attribute"
	"prywalk/internal/procmem"
	"prywalk/internal/profile"
	"prywalk/internal/runstats"
	"prywalk/internal/sample"
)

// sink books what the attribution gives.
type sink struct{ a *Accountant }

// Add implements [attribute.Sink].
func (k sink) Add(i *attribute.Interval) {
	if p := k.a.procs[i.Process]; p != nil {
		k.a.add(p, k.a.threads[i.Task], &i.Span)
	}
}

// TaskDone implements [attribute.Sink].
func (k sink) TaskDone(task sample.TaskID, ticks, observed int64) {
	if th := k.a.threads[task]; th != nil {
		k.a.rates.add(runstats.ThreadRate{
			PID: th.proc.Target.PID, TID: th.TID, Name: th.name, Looks: ticks, Seconds: seconds(observed),
		})
	}
}

// ProcessDone implements [attribute.Sink].
func (k sink) ProcessDone(id sample.ProcessID) { delete(k.a.procs, id) }

// add adds a span to the recording. All time comes this way. th is nil where it is of no thread in particular.
func (a *Accountant) add(p *processAccount, th *threadAccount, s *attribute.Span) {
	a.totals.book(s)
	i := a.interval(p, th, s)
	a.Builder.Add(i)
	if a.Watch != nil {
		a.Watch.Add(i)
	}
}

// interval gives a span as the recording has it.
func (a *Accountant) interval(p *processAccount, th *threadAccount, s *attribute.Span) profile.Interval {
	i := profile.Interval{
		Stack: a.stackOf(s), PID: p.Target.PID, NSPID: p.nsPID, Comm: p.Comm, Thread: attribute.Exited,
		State: s.State.String(), Wait: s.Wait, WaitsFor: s.WaitsFor, Owner: s.Owner, End: a.unix.Of(s.End),
		Samples: s.Samples, Wall: s.Wall, RunQueue: s.RunQueue, CPU: s.CPU,
	}
	switch {
	case s.Program != "":
		i.Thread = attribute.ChildrenOf(s.Program)
	case s.Leaf == attribute.ShortLivedChildren:
		i.Thread = attribute.Children
	}
	if th != nil {
		i.TID, i.NSTID, i.Thread, i.Role = th.TID, th.nsTID, th.name, th.role
	}
	return i
}

// stackOf gives the stack that a span is booked under.
func (a *Accountant) stackOf(s *attribute.Span) sample.StackID {
	switch s.Leaf {
	case attribute.NotObserved, attribute.ExitedUnseen, attribute.ShortLivedChildren: // no stack
		return a.Builder.Intern([]profile.Loc{{Synthetic: s.Leaf}})
	}
	return a.unwind.withLeaf(s.Stack, s.Leaf)
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
	a.times.Open(func(i *attribute.Interval) bool {
		p := a.procs[i.Process]
		return p == nil || yield(a.interval(p, a.threads[i.Task], &i.Span))
	})
}
