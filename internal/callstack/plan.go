// SPDX-License-Identifier: Apache-2.0

package callstack

import (
	"prywalk/frames"
	"prywalk/internal/managed"
)

// FirstPlan gives what to copy of a thread of which nothing is known, nil if nothing.
func FirstPlan(namers []managed.Namer) *managed.Plan {
	for _, n := range namers {
		if plan := n.Plan(); plan != nil && len(plan.Find) > 0 {
			return plan
		}
	}
	return nil
}

// Plan gives what to copy besides a thread's stack, by the first run-time system that has the thread and needs more;
// nil if none. pthread is the thread pointer, 0 if unknown.
func Plan(namers []managed.Namer, tid int, pthread uint64) (*managed.Plan, frames.Addr) {
	for _, n := range namers {
		if plan := n.Plan(); plan != nil {
			if anchor, ok := n.Anchor(tid, pthread); ok {
				return plan, anchor
			}
		}
	}
	return nil, 0
}

// Planned reports whether a run-time system needs more than the stack to be copied in a stop.
func Planned(namers []managed.Namer) bool {
	for _, n := range namers {
		if n.Plan() != nil {
			return true
		}
	}
	return false
}
