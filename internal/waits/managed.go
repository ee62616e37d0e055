// SPDX-License-Identifier: Apache-2.0

package waits

import "prywalk/internal/schema"

// Kinds of waits in run-time systems.
const (
	Monitor    Kind = "monitor"     // for an object's lock: a monitor of Java
	ObjectWait Kind = "object-wait" // for a notification at an object, or for a queue of Ruby
	GIL        Kind = "GIL"         // for the lock of an interpreter: of CPython or Ruby
)

// ManagedWait is a run-time system's answer. class is the awaited object's; owner is the thread's ID in the target's
// pid namespace, 0 if unknown.
func ManagedWait(kind Kind, class string, address uint64, owner int, timed bool) Wait {
	return Wait{Kind: kind, Symbol: class, Address: schema.Hex(address), nsTID: owner, Timed: timed, managed: true}
}

// IsManaged reports whether it is a run-time system's answer.
func (w *Wait) IsManaged() bool { return w.managed }
