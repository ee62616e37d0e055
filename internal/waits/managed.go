// SPDX-License-Identifier: Apache-2.0

package waits

// Kinds of what run-time systems' threads wait for.
const (
	Monitor    Kind = "monitor"     // of an object of Java
	ObjectWait Kind = "object-wait" // Object.wait: a notification
	GIL        Kind = "GIL"         // of CPython
)

// Managed is what a run-time system says of a sleeper: the class of the object that it waits for is its symbol. owner
// is the number of the thread that has it as the target sees it, 0 if none is known.
func Managed(kind Kind, class string, address uint64, owner int, timed bool) For {
	return For{Kind: kind, Symbol: class, Address: Address(address), inner: owner, Timed: timed, managed: true}
}

// IsManaged reports whether a run-time system has said it.
func (w *For) IsManaged() bool { return w.managed }
