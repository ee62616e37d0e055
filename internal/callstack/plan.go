// SPDX-License-Identifier: Apache-2.0

package callstack

import (
	"prywalk/frames"
	"prywalk/internal/managed"
)

// FirstPlan gives what is to be copied of a thread of which nothing is known yet, nil if nothing.
func FirstPlan(namers []managed.Namer) *managed.Plan {
	for _, n := range namers {
		if p, ok := n.(managed.Planner); ok {
			if plan := p.Plan(); plan != nil && len(plan.Find) > 0 {
				return plan
			}
		}
	}
	return nil
}

// Plan gives what is to be copied besides a thread's stack, by the first run-time system that the thread belongs to and
// that needs more; nil if none does. pthread is the thread pointer, 0 if it is not known.
func Plan(namers []managed.Namer, tid int, pthread uint64) (*managed.Plan, frames.Addr) {
	for _, n := range namers {
		p, ok := n.(managed.Planner)
		if !ok {
			continue
		}
		if plan := p.Plan(); plan != nil {
			if anchor, ok := p.Anchor(tid, pthread); ok {
				return plan, anchor
			}
		}
	}
	return nil, 0
}

// Planned reports whether a run-time system needs more than the stack to be copied in a stop.
func Planned(namers []managed.Namer) bool {
	for _, n := range namers {
		if p, ok := n.(managed.Planner); ok && p.Plan() != nil {
			return true
		}
	}
	return false
}
