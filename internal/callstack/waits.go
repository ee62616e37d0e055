// SPDX-License-Identifier: Apache-2.0

package callstack

import (
	"prywalk/internal/managed"
	"prywalk/internal/waits"
)

// waitKinds are the kinds of waits by those of run-time systems.
var waitKinds = map[managed.WaitKind]waits.Kind{
	managed.WaitMonitor: waits.Monitor, managed.WaitObject: waits.ObjectWait, managed.WaitPark: waits.Park,
	managed.WaitSleep: waits.Sleep, managed.WaitGIL: waits.GIL, managed.WaitLock: waits.Mutex,
}

// Waiting gives what a thread in futex(2) waits for, if a run-time system knows; the owner is unresolved. later: more
// may be known a little later.
func Waiting(namers []managed.Namer, s *managed.Sleeper) (w waits.For, ok, later bool) {
	for _, n := range namers {
		t, is := n.(managed.Threads)
		if !is {
			continue
		}
		said, ok := t.Waiting(s)
		kind := waitKinds[said.Kind]
		later = later || said.Later
		if !ok || kind == "" {
			continue
		}
		w := waits.Managed(kind, said.Class, said.Address, said.Owner, said.Timed)
		w.OwnerName = said.OwnerName
		return w, true, later
	}
	return w, false, later
}

// Holds gives the locks that the last walk's frames suggest are held.
func Holds(namers []managed.Namer) (out []managed.Held) {
	for _, n := range namers {
		if h, ok := n.(managed.Threads); ok {
			out = append(out, h.Holds()...)
		}
	}
	return out
}
