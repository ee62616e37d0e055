// SPDX-License-Identifier: Apache-2.0

package callstack

import (
	"prywalk/internal/managed"
	"prywalk/internal/waits"
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
		w := waits.ManagedWait(answer.Kind, answer.Class, answer.Address, answer.Owner, answer.Timed)
		w.OwnerName = answer.OwnerName
		return w, true, later
	}
	return w, false, later
}

// HeldLocks returns the locks held by the last walk's frames.
func HeldLocks(sources []managed.FrameSource) (out []managed.HeldLock) {
	for t := range threadsOf(sources) {
		out = append(out, t.HeldLocks()...)
	}
	return out
}
