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

// intervalSink adds the attribution's intervals to the recording, the other sinks and the totals.
type intervalSink struct {
	accounts  *accounts
	stacks    *stackBuilder
	recording *profile.Builder
	sinks     []profile.Sink // beside the recording
	unix      unixTime
	totals    totals
	rates     threadRates
}

// Add implements [attribute.Sink].
func (out *intervalSink) Add(i *attribute.Interval) {
	if p := out.accounts.procs[i.Process]; p != nil {
		out.addSpan(p, out.accounts.threads[i.Thread], &i.Span)
	}
}

// ThreadDone implements [attribute.Sink].
func (out *intervalSink) ThreadDone(id sample.ThreadID, ticks, observed int64) {
	if th := out.accounts.threads[id]; th != nil {
		out.rates.add(runstats.ThreadRate{
			PID: th.proc.Target.PID, TID: th.TID, Name: th.name, Samples: ticks, Seconds: seconds(observed),
		})
	}
}

// ProcessDone implements [attribute.Sink].
func (out *intervalSink) ProcessDone(id sample.ProcessID) { delete(out.accounts.procs, id) }

// UnixOf converts CLOCK_MONOTONIC to Unix time, ns.
func (out *intervalSink) UnixOf(at int64) int64 { return out.unix.Of(at) }

// addSpan takes all time of threads; th is nil for time of the process.
func (out *intervalSink) addSpan(p *processAccount, th *threadAccount, s *attribute.Span) {
	out.totals.addSpan(s)
	out.addInterval(out.interval(p, th, s))
}

func (out *intervalSink) addInterval(i profile.Interval) {
	out.recording.Add(i)
	for _, s := range out.sinks {
		s.Add(i)
	}
}

func (out *intervalSink) interval(p *processAccount, th *threadAccount, s *attribute.Span) profile.Interval {
	i := profile.Interval{
		Stack: out.stackOf(s), PID: p.Target.PID, InnerPID: p.innerPID, Start: p.Target.StartTime, Comm: p.Comm,
		Thread: attribute.Exited, State: s.State.String(), Wait: s.Wait, WaitsFor: s.WaitsFor, Owner: s.Owner,
		End: out.unix.Of(s.End), Samples: s.Samples, Wall: s.Wall, RunQueue: s.RunQueue, CPU: s.CPU, Labels: s.Labels,
	}
	switch {
	case s.Program != "":
		i.Thread = attribute.ChildrenOf(s.Program)
	case s.Leaf == attribute.ShortLivedChildren:
		i.Thread = attribute.Children
	}
	if th != nil {
		i.TID, i.Thread, i.Role = th.TID, th.name, th.role
		if th.innerTID != th.TID {
			i.InnerTID = th.innerTID
		}
	}
	return i
}

func (out *intervalSink) stackOf(s *attribute.Span) sample.StackID {
	switch s.Leaf {
	case attribute.NotObserved, attribute.ExitedUnseen, attribute.ShortLivedChildren:
		return out.recording.Intern([]profile.Loc{{Synthetic: s.Leaf}})
	}
	return out.stacks.withLeaf(s.Stack, s.Leaf)
}

// # Sinks
//
// A [profile.Watcher] also gets open intervals, as an unchanged thread can have one for days.

func (a *Aggregator) refresh(at int64) {
	took := selfruntime.CPUTimeOf(func() { a.refreshSinks(at) })
	a.Requests.Refresh.Done(int64(took), false)
}

func (a *Aggregator) refreshSinks(at int64) {
	for _, sink := range a.sinks {
		if s, ok := sink.(profile.TimelyWatcher); ok && s.Timely() {
			a.attribution.Settle()
			break
		}
	}
	for _, sink := range a.sinks {
		if w, ok := sink.(profile.Watcher); ok {
			w.Refresh(a.unix.Of(at), a.openIntervals)
		}
	}
	a.evict()
}

// openIntervals yields the open spans. The accounts stay.
func (a *Aggregator) openIntervals(yield func(profile.Interval) bool) {
	if !a.openTasks(yield) {
		return
	}
	a.attribution.Open(func(i *attribute.Interval) bool {
		p := a.procs[i.Process]
		return p == nil || yield(a.interval(p, a.threads[i.Thread], &i.Span))
	})
}

// evict drops the stacks that nothing needs, if there are many.
func (a *Aggregator) evict() {
	if !a.recording.NeedsEviction() {
		return
	}
	held := map[sample.StackID]bool{}
	for _, sink := range a.sinks {
		h, ok := sink.(profile.StackHolder)
		if !ok {
			return
		}
		stacks, ok := h.HeldStacks()
		if !ok {
			return
		}
		for id := range stacks {
			held[id] = true
		}
	}
	for id := range a.attribution.Stacks {
		held[id] = true
	}
	a.eachPoller(func(t *taskPoller) {
		for i := range t.places {
			if s := &t.places[i]; s.parked {
				held[s.stack] = true
			}
		}
	})
	a.recording.Evict(maps.Keys(held))
	a.forgetEvicted()
}

func (out *intervalSink) forgetEvicted() {
	stacks := out.stacks
	clear(stacks.leaves)
	clear(stacks.locations[:])
	stacks.kernelAddresses, stacks.kernelFunctions = nil, nil
	for _, p := range out.accounts.procs {
		clear(p.managed.descriptions)
		clear(p.managed.locations)
	}
}
