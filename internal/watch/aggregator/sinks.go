// SPDX-License-Identifier: Apache-2.0

package aggregator

import (
	"cmp"
	"maps"
	"time"

	"prywalk/internal/account/attribute"
	"prywalk/internal/base/monotonic"
	"prywalk/internal/base/sample"
	"prywalk/internal/host/selfruntime"
	"prywalk/internal/store/profile"
	"prywalk/internal/watch/target"
)

type intervalSink struct {
	states    *states
	recording *profile.Builder
	sinks     []profile.Sink // beside the recording
	unix      unixTime
	totals    totals
}

// Add implements [attribute.Sink].
func (out *intervalSink) Add(i *attribute.Interval) {
	if p := out.states.procs[i.Process]; p != nil {
		out.totals.addSpan(&i.Span)
		out.addInterval(out.interval(p, out.states.threads[i.Thread], &i.Span))
	}
}

// ProcessDone implements [attribute.Sink].
func (out *intervalSink) ProcessDone(id sample.ProcessID) { delete(out.states.procs, id) }

func (out *intervalSink) addInterval(i profile.Interval) {
	out.recording.Add(i)
	for _, s := range out.sinks {
		s.Add(i)
	}
}

// interval is of the process itself if th is nil.
func (out *intervalSink) interval(p *processState, th *target.Thread, s *attribute.Span) profile.Interval {
	i := profile.Interval{
		Stack: out.stackOf(s), PID: p.process.Code.PID, InnerPID: innerNumber(p.innerPID, p.process.Code.PID),
		Start: p.process.Code.StartTime, Comm: p.process.Comm,
		Thread: attribute.ExitedThread, State: s.State.String(), Wait: s.Wait, Owner: s.Owner,
		WaitsFor: cmp.Or(p.named[s.WaitsFor], s.WaitsFor), End: out.unix.Of(monotonic.Moment(s.End)), Samples: s.Samples,
		Wall: s.Wall, RunQueue: s.RunQueue, CPU: s.CPU, Labels: s.Labels, Before: s.Before, Container: p.container,
	}
	switch {
	case s.Program != "":
		i.Thread = attribute.ChildrenOf(s.Program)
	case s.Leaf == attribute.ShortLivedChildren:
		i.Thread = attribute.ChildrenThread
	}
	if th != nil {
		i.TID, i.InnerTID, i.Thread, i.Role = th.TID, innerNumber(th.Walk.InnerTID, th.TID), th.Walk.Name, th.Walk.Role
	}
	return i
}

// innerNumber is as in [profile.Interval], or 0 if that is the same.
func innerNumber(inner, outer int) int {
	if inner == outer {
		return 0
	}
	return inner
}

func (out *intervalSink) stackOf(s *attribute.Span) sample.StackID {
	switch s.Leaf {
	case attribute.NotObserved, attribute.ExitedUnseen, attribute.ShortLivedChildren, attribute.InKernel:
		return out.recording.Intern([]profile.Loc{{Synthetic: s.Leaf}})
	}
	if s.Leaf == "" {
		return s.Stack
	}
	return out.recording.InternLeaf(s.Stack, s.Leaf)
}

// refresh shows the sinks the time so far, with open intervals: an unchanged thread can have one for days.
func (a *Aggregator) refresh(at monotonic.Moment) {
	took := selfruntime.CPUTimeOf(func() { a.refreshSinks(at) })
	a.common.Requests.Refresh.Done(took, false)
}

func (a *Aggregator) refreshSinks(at monotonic.Moment) {
	unix := a.out.unix.Of(at)
	for _, sink := range a.out.sinks {
		switch s := sink.(type) {
		case profile.Watcher:
			s.Refresh(unix, a.openIntervals)
		case profile.Cutter:
			s.RefreshCut(unix, a.cutOpen)
		}
	}
	a.evict()
}

func (a *Aggregator) cutOpen() {
	a.attribution.AttributeOverdue()
	a.attribute(&attribute.Cut{})
}

func (a *Aggregator) openIntervals(yield func(profile.Interval) bool) {
	if !a.tasks.openIntervals(yield) {
		return
	}
	a.attribution.OpenIntervals(func(i *attribute.Interval) bool {
		p := a.states.procs[i.Process]
		return p == nil || yield(a.out.interval(p, a.states.threads[i.Thread], &i.Span))
	})
}

func (a *Aggregator) evict() {
	if !a.out.recording.NeedsEviction() {
		return
	}
	held := map[sample.StackID]bool{}
	hold := func(id sample.StackID) { held[id] = true }
	for _, sink := range a.out.sinks {
		h, ok := sink.(profile.StackHolder)
		if !ok {
			return
		}
		stacks, ok := h.HeldStacks()
		if !ok {
			return
		}
		for id := range stacks {
			hold(id)
		}
	}
	a.attribution.EachStack(hold)
	a.tasks.eachPoller(func(t *taskPoller) {
		for i := range t.slots {
			if s := &t.slots[i]; s.parked {
				hold(s.stack)
			}
		}
	})
	a.out.recording.Evict(maps.Keys(held))
	for _, p := range a.states.procs {
		clear(p.managedNames.descriptions)
	}
}

type unixTime struct {
	epoch int64 // Unix time less CLOCK_MONOTONIC at the start, ns
	slept []wakeUp
}

type wakeUp struct {
	at     monotonic.Moment
	length time.Duration
}

// Resumed notes a suspension of length until at; earlier moments keep their Unix time.
func (u *unixTime) Resumed(at monotonic.Moment, length time.Duration) {
	u.slept = append(u.slept, wakeUp{at, length})
}

// Of converts a moment to Unix time, in nanoseconds.
func (u *unixTime) Of(at monotonic.Moment) int64 {
	unix := u.epoch + int64(at)
	for i := range u.slept {
		if s := &u.slept[i]; at > s.at {
			unix += int64(s.length)
		}
	}
	return unix
}
