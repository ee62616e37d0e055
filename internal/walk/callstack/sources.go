// SPDX-License-Identifier: Apache-2.0

package callstack

import (
	"iter"
	"slices"

	"prywalk/frames"
	"prywalk/internal/walk/managed"
	"prywalk/internal/walk/waits"
)

// of returns the runtimes that have the methods of T.
func of[T managed.FrameSource](sources []managed.FrameSource) iter.Seq[T] {
	return func(yield func(T) bool) {
		for _, n := range sources {
			if t, is := n.(T); is && !yield(t) {
				return
			}
		}
	}
}

// ThreadName returns a runtime's name of a thread. innerTID is in the process's own pid namespace.
func ThreadName(sources []managed.FrameSource, innerTID int) (name string, ok bool) {
	for t := range of[managed.ThreadNamer](sources) {
		if name, ok = t.ThreadName(innerTID); ok && name != "" {
			return name, true
		}
	}
	return "", false
}

// Postponed reports whether unread names may be readable later. It asks every runtime, as [managed.ThreadRoles] answers
// for the time since its last call.
func Postponed(sources []managed.FrameSource) (some bool) {
	for t := range of[managed.ThreadRoles](sources) {
		some = t.Postponed() || some
	}
	return some
}

// Role returns "" if the role is unknown. innerTID is in the process's own pid namespace.
func Role(sources []managed.FrameSource, innerTID int, name string) string {
	for t := range of[managed.ThreadRoles](sources) {
		if role, ok := t.Role(innerTID, name); ok {
			return role
		}
	}
	return ""
}

// WaitOf returns what a thread in a call of [waits.RuntimeWaitCall] waits for, by the first runtime that knows; else ok
// is false. The owner's ID is in the process's own pid namespace. later: a later query may give more.
func WaitOf(sources []managed.FrameSource, q *managed.WaitQuery) (w waits.Wait, ok, later bool) {
	for t := range of[managed.Threads](sources) {
		answer, ok := t.Waiting(q)
		later = later || answer.Later
		if !ok || answer.Kind == waits.NoWait {
			continue
		}
		return WaitFrom(&answer), true, later
	}
	return w, false, later
}

// WaitFrom is the wait of a runtime's answer.
func WaitFrom(a *managed.WaitAnswer) waits.Wait {
	w := waits.ManagedWait(a.Kind, a.Class, a.Address, a.Owner, a.Timed)
	w.OwnerName, w.OwnerTask = a.OwnerName, a.OwnerTask
	return w
}

// HeldLocks returns the locks held by the last walk's frames.
func HeldLocks(sources []managed.FrameSource) (out []managed.HeldLock) {
	for t := range of[managed.LockHolder](sources) {
		out = append(out, t.HeldLocks()...)
	}
	return out
}

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
