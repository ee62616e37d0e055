// SPDX-License-Identifier: Apache-2.0

package aggregator

import (
	"maps"

	"prywalk/internal/attribute"
	"prywalk/internal/profile"
	"prywalk/internal/runstats"
	"prywalk/internal/sample"
	"prywalk/internal/selfruntime"
)

// ledger adds intervals to the recording, to the other sinks and to the totals. It is the sink of the attribution.
type ledger struct {
	of        *accounts
	stacks    *unwinder
	recording *profile.Builder
	sinks     []profile.Sink // beside the recording
	unix      unixTime
	totals    totals
	rates     rates
}

// Add implements [attribute.Sink].
func (k *ledger) Add(i *attribute.Interval) {
	if p := k.of.procs[i.Process]; p != nil {
		k.add(p, k.of.threads[i.Thread], &i.Span)
	}
}

// ThreadDone implements [attribute.Sink].
func (k *ledger) ThreadDone(id sample.ThreadID, ticks, observed int64) {
	if th := k.of.threads[id]; th != nil {
		k.rates.add(runstats.ThreadRate{
			PID: th.proc.Target.PID, TID: th.TID, Name: th.name, Samples: ticks, Seconds: seconds(observed),
		})
	}
}

// ProcessDone implements [attribute.Sink].
func (k *ledger) ProcessDone(id sample.ProcessID) { delete(k.of.procs, id) }

// UnixOf converts CLOCK_MONOTONIC to Unix time, in ns.
func (k *ledger) UnixOf(at int64) int64 { return k.unix.Of(at) }

// add adds a span to the recording; all time of threads passes here. th is nil for time of the process.
func (k *ledger) add(p *processAccount, th *threadAccount, s *attribute.Span) {
	k.totals.book(s)
	k.put(k.interval(p, th, s))
}

func (k *ledger) put(i profile.Interval) {
	k.recording.Add(i)
	for _, s := range k.sinks {
		s.Add(i)
	}
}

func (k *ledger) interval(p *processAccount, th *threadAccount, s *attribute.Span) profile.Interval {
	i := profile.Interval{
		Stack: k.stackOf(s), PID: p.Target.PID, NSPID: p.nsPID, Comm: p.Comm, Thread: attribute.Exited,
		State: s.State.String(), Wait: s.Wait, WaitsFor: s.WaitsFor, Owner: s.Owner, End: k.unix.Of(s.End),
		Samples: s.Samples, Wall: s.Wall, RunQueue: s.RunQueue, CPU: s.CPU, Labels: s.Labels,
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

func (k *ledger) stackOf(s *attribute.Span) sample.StackID {
	switch s.Leaf {
	case attribute.NotObserved, attribute.ExitedUnseen, attribute.ShortLivedChildren: // no stack
		return k.recording.Intern([]profile.Loc{{Synthetic: s.Leaf}})
	}
	return k.stacks.withLeaf(s.Stack, s.Leaf)
}

// # Sinks
//
// A sink gets each interval when it is final. A [profile.Watcher] also gets the open ones, as a thread that is found
// unchanged has one interval for days. The recording does not depend on the other sinks.

func (a *Aggregator) refresh(at int64) {
	took := selfruntime.CPUOf(func() { a.refreshSinks(at) })
	a.Requests.Refresh.Done(int64(took), false)
}

func (a *Aggregator) refreshSinks(at int64) {
	for _, sink := range a.sinks {
		if s, ok := sink.(profile.Settling); ok && s.Settles() {
			a.times.Settle()
			break
		}
	}
	for _, sink := range a.sinks {
		if w, ok := sink.(profile.Watcher); ok {
			w.Refresh(a.unix.Of(at), a.goesOn)
		}
	}
	a.evict()
}

// goesOn gives the open spans as intervals, without a change of the accounts.
func (a *Aggregator) goesOn(yield func(profile.Interval) bool) {
	if !a.openTasks(yield) {
		return
	}
	a.times.Open(func(i *attribute.Interval) bool {
		p := a.procs[i.Process]
		return p == nil || yield(a.interval(p, a.threads[i.Thread], &i.Span))
	})
}

// evict drops the stacks that neither a kept interval, an open one nor a sink needs, if there are many.
func (a *Aggregator) evict() {
	if !a.recording.Surplus() {
		return
	}
	held := map[sample.StackID]bool{}
	for _, sink := range a.sinks {
		h, ok := sink.(profile.Holder)
		if !ok {
			return
		}
		stacks, ok := h.Held()
		if !ok {
			return
		}
		for id := range stacks {
			held[id] = true
		}
	}
	a.goesOn(func(iv profile.Interval) bool {
		held[iv.Stack] = true
		return true
	})
	a.recording.Evict(maps.Keys(held))
	a.forgetEvicted()
}

// forgetEvicted drops cached numbers of locations and stacks.
func (k *ledger) forgetEvicted() {
	u := k.stacks
	clear(u.leaves)
	clear(u.numbers[:])
	u.kernel, u.functions = nil, nil
	for _, p := range k.of.procs {
		clear(p.managed.said)
		clear(p.managed.locs)
	}
}
