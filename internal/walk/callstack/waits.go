// SPDX-License-Identifier: Apache-2.0

package callstack

import (
	"prywalk/internal/walk/managed"
	"prywalk/internal/walk/waits"
)

// WaitOf returns what a thread in a call of [waits.RuntimeWaitCall] waits for, by the first runtime that knows; else ok
// is false. The owner's ID is in the process's own pid namespace. later: a later query may give more.
func WaitOf(sources []managed.FrameSource, q *managed.WaitQuery) (w waits.Wait, ok, later bool) {
	for t := range threadsOf(sources) {
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
	for t := range threadsOf(sources) {
		out = append(out, t.HeldLocks()...)
	}
	return out
}
