// SPDX-License-Identifier: Apache-2.0

package perfengine

import (
	"prywalk/internal/engine"
	"prywalk/internal/handover"
	"prywalk/internal/observe"
)

// unassignedSamples reports samples of untracked threads: they share the unobserved time of a process
// ([attribute.ProcessAccount.AddUnassigned]). They wait, as the next listing may find their thread.
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

func (c *unassignedSamples) full() bool { return len(c.list) >= maxUnassigned }

func (c *unassignedSamples) keep(p *process, tid int, raw *observe.RawSample) {
	c.list = append(c.list, unassignedSample{p, tid, raw})
}

// assign gives a new thread its samples.
func (c *unassignedSamples) assign(th *thread) {
	kept := c.list[:0]
	for _, u := range c.list {
		if u.tid != th.Observed.TID || u.proc != th.proc {
			kept = append(kept, u)
			continue
		}
		th.waiting = append(th.waiting, u.raw)
		if th.Handover.CreatedAt != 0 {
			th.Handover.CreatedAt = min(th.Handover.CreatedAt, u.raw.At)
		}
	}
	clear(c.list[len(kept):])
	c.list = kept
}

// reportProcess reports the waiting samples of a process that has ended or is no longer sampled.
func (c *unassignedSamples) reportProcess(p *process) {
	c.reportIf(func(u *unassignedSample) bool { return u.proc == p })
}

func (c *unassignedSamples) reportOverdue() {
	c.reportIf(func(u *unassignedSample) bool {
		return c.shared.Ending || c.shared.Tick.At-u.raw.At > unassignedFor
	})
}

func (c *unassignedSamples) reportIf(due func(*unassignedSample) bool) {
	kept := c.list[:0]
	for i := range c.list {
		u := c.list[i]
		if due(&c.list[i]) {
			c.shared.AddUnassignedSample(handover.Event{
				Kind: handover.SampledUnassigned, Proc: u.proc.Handover, RawSample: u.raw,
			})
		} else {
			kept = append(kept, u)
		}
	}
	clear(c.list[len(kept):])
	c.list = kept
}
