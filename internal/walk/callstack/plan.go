// SPDX-License-Identifier: Apache-2.0

package callstack

import (
	"slices"

	"prywalk/frames"
	"prywalk/internal/walk/managed"
)

// FirstPlans returns the plans that find their anchor: what to copy of a thread before its first observation, and of
// the other runtimes that it may run; nil: none.
func FirstPlans(sources []managed.FrameSource) *[]*managed.Plan {
	var plans []*managed.Plan
	for _, n := range sources {
		if plan := n.Plan(); plan != nil && (len(plan.FindAnchor) > 0 || plan.FromThreadPointer) {
			plans = append(plans, plan)
		}
	}
	if plans == nil {
		return nil
	}
	return &plans
}

// Plan returns what to copy besides a thread's stack, and the anchor, by the first runtime that has the thread; nil:
// none. innerTID is in the process's own pid namespace; pthread is the thread pointer, 0 if unknown.
func Plan(sources []managed.FrameSource, innerTID int, pthread uint64) (*managed.Plan, frames.Addr) {
	for _, n := range sources {
		if plan := n.Plan(); plan != nil {
			if anchor, ok := n.Anchor(innerTID, pthread); ok {
				return plan, anchor
			}
		}
	}
	return nil, 0
}

// HasPlan reports whether stops copy more than the stack.
func HasPlan(sources []managed.FrameSource) bool {
	return slices.ContainsFunc(sources, func(n managed.FrameSource) bool { return n.Plan() != nil })
}
