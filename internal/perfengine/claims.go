// SPDX-License-Identifier: Apache-2.0

package perfengine

import (
	"prywalk/internal/engine"
	"prywalk/internal/handover"
	"prywalk/internal/observe"
)

// claims reports samples of threads that are not tracked: each is a claim on the unobserved time of a process
// ([attribute.Process.Claim]). Samples of a sampled process wait, as their thread may be found by the next listing.
type claims struct {
	shared     *engine.SharedState
	unassigned []unassignedSample
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

func (c *claims) full() bool { return len(c.unassigned) >= maxUnassigned }

func (c *claims) keep(p *process, tid int, raw *observe.RawSample) {
	c.unassigned = append(c.unassigned, unassignedSample{p, tid, raw})
}

// assign gives a new thread its samples.
func (c *claims) assign(th *thread) {
	kept := c.unassigned[:0]
	for _, u := range c.unassigned {
		if u.tid != th.Observed.TID || u.proc != th.proc {
			kept = append(kept, u)
			continue
		}
		th.waiting = append(th.waiting, u.raw)
		if th.Handover.CreatedAt != 0 {
			th.Handover.CreatedAt = min(th.Handover.CreatedAt, u.raw.At)
		}
	}
	clear(c.unassigned[len(kept):])
	c.unassigned = kept
}

// reportProcess reports the waiting samples of a process that has ended or is no longer sampled.
func (c *claims) reportProcess(p *process) {
	c.reportIf(func(u *unassignedSample) bool { return u.proc == p })
}

func (c *claims) reportOverdue() {
	c.reportIf(func(u *unassignedSample) bool {
		return c.shared.Ending || c.shared.Tick.At-u.raw.At > unassignedFor
	})
}

func (c *claims) reportIf(due func(*unassignedSample) bool) {
	kept := c.unassigned[:0]
	for i := range c.unassigned {
		u := c.unassigned[i]
		if due(&c.unassigned[i]) {
			c.shared.AddUnassignedSample(handover.Event{
				Kind: handover.SampledUntracked, Proc: u.proc.Handover, RawSample: u.raw,
			})
		} else {
			kept = append(kept, u)
		}
	}
	clear(c.unassigned[len(kept):])
	c.unassigned = kept
}
