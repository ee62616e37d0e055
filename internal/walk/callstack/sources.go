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
// is false. The owner's ID is in the process's own pid namespace. later means that a later query may give more.
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

// FirstPlans returns the plans that need no anchor, as they find it themselves. They say what to copy of a thread at
// its first observation, when its runtime is not known, or of a further runtime that it may run. It can be nil.
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

// Plan returns what to copy besides a thread's stack, and the anchor, by the first runtime that has the thread, or nil.
// innerTID is in the process's own pid namespace; pthread is the thread pointer, 0 if unknown.
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

// Tasks returns a process's tasks without a thread.
func Tasks(sources []managed.FrameSource, w managed.Watch) (all managed.TaskList) {
	for t := range of[managed.Threads](sources) {
		list := t.Coroutines(w)
		for i := range list.Tasks {
			list.Tasks[i].Runtime = t.Name()
		}
		all.Tasks = append(all.Tasks, list.Tasks...)
		all.Changed += list.Changed
		all.More += list.More
		all.Unproven += list.Unproven
		all.Mounted += list.Mounted
		all.Unlisted += list.Unlisted
		all.Examined = all.Examined || list.Examined
		all.Untracked = all.Untracked || list.Untracked
	}
	return all
}

// Awaits returns a process's suspended functions. It searches a heap until a time, in nanoseconds of CLOCK_MONOTONIC.
func Awaits(sources []managed.FrameSource, w managed.Watch, until int64) (list managed.AwaitList) {
	for source := range of[managed.AwaitSource](sources) {
		if list.Read == 0 {
			list = source.Awaits(w, until)
		}
	}
	return list
}

// TaskWait is what the task with a number ([managed.Task.ID]) waits for now, or nil if unknown, or if the task went on.
func TaskWait(sources []managed.FrameSource, id uint64) (wait *managed.WaitAnswer) {
	for t := range of[managed.Threads](sources) {
		if !slices.Contains(t.TaskPlaces(), id) {
			continue
		}
		t.TasksAt([]uint64{id}, CoreWatch{}, func(_ uint64, task managed.Task, ok bool) {
			if ok && task.ID == id {
				wait = task.WaitsFor
			}
		})
	}
	return wait
}

// CoreWatch is the [managed.Watch] of a core, in which nothing runs.
type CoreWatch struct{}

// Mark implements [managed.Watch].
func (CoreWatch) Mark([]int) bool { return true }

// Slept implements [managed.Watch].
func (CoreWatch) Slept() bool { return true }
