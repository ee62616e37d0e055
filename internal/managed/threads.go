// SPDX-License-Identifier: Apache-2.0

package managed

// ThreadNamer is a Runtime that knows the names which a program gives its threads. The kernel's are cut at 15
// characters, or were never set.
type ThreadNamer interface {
	// ThreadName gives the name of a thread, by the number that the process itself knows it by: its own pid namespace's.
	// It reports false for a thread that the run-time system does not have, and for a name that does not prove itself:
	// the kernel's stays. It is asked for each thread about once a second, by the goroutine that walks. A list of all
	// threads is to be read once for all who ask in that time.
	ThreadName(tid int) (name string, ok bool)
}

// Postponer is a ThreadNamer that cannot always tell a name when it is asked, as while objects are moved.
type Postponer interface {
	// Postponed reports whether a name was asked for, since the last call of it, that may be had a little later.
	Postponed() bool
}
