// SPDX-License-Identifier: Apache-2.0

package perfengine

import (
	"slices"

	"prywalk/internal/engine"
	"prywalk/internal/observe"
	"prywalk/internal/target"
)

// unassignedSamples are of untracked threads: they share the unobserved time of a process. They wait, as the next
// listing may find their thread.
type unassignedSamples struct {
	shared *engine.SharedState
	list   []unassignedSample
}

type unassignedSample struct {
	proc *process
	tid  int
	raw  *observe.RawSample
}

const (
	// unassignedFor is how long a sample waits for its thread, ns: two listings.
	unassignedFor = 100e6
	maxUnassigned = 256
)

func (u *unassignedSamples) full() bool { return len(u.list) >= maxUnassigned }

func (u *unassignedSamples) keep(p *process, tid int, raw *observe.RawSample) {
	u.list = append(u.list, unassignedSample{p, tid, raw})
}

func (u *unassignedSamples) assign(th *thread) {
	u.list = slices.DeleteFunc(u.list, func(s unassignedSample) bool {
		if s.tid != th.Observed.TID || s.proc != th.proc {
			return false
		}
		th.unplaced = append(th.unplaced, s.raw)
		if th.CreatedAt != 0 {
			th.CreatedAt = min(th.CreatedAt, s.raw.At)
		}
		return true
	})
}

func (u *unassignedSamples) reportProcess(p *process) {
	u.reportIf(func(s unassignedSample) bool { return s.proc == p })
}

// reportOverdue reports samples older than unassignedFor, in the last tick all.
func (u *unassignedSamples) reportOverdue() {
	u.reportIf(func(s unassignedSample) bool {
		return u.shared.Ending || u.shared.Tick.At-s.raw.At > unassignedFor
	})
}

func (u *unassignedSamples) reportIf(due func(unassignedSample) bool) {
	u.list = slices.DeleteFunc(u.list, func(s unassignedSample) bool {
		if !due(s) {
			return false
		}
		u.shared.AddUnassignedSample(target.Event{Proc: s.proc.Process, RawSample: s.raw}, false)
		return true
	})
}
