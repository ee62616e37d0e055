// SPDX-License-Identifier: Apache-2.0

package managed

import "prywalk/frames"

// Held is a lock whose block a frame is inside of.
type Held struct {
	// Word is the address that waiters sleep at.
	Word uint64
	// Class is the lock's class.
	Class string
	// Function, File and Line are the frame's position.
	Function, File string
	Line           int
}

// Sleeper is a thread asleep in futex(2).
type Sleeper struct {
	// TID is the thread's ID in its own pid namespace.
	TID int
	// Word is the address that it sleeps at.
	Word uint64
	// Mem is the observation's copy of its memory; nil if it is gone.
	Mem frames.Memory
	// Live reads the process's memory. Unchanged reports whether the same sleep continues.
	Live Live
}

// WaitKind is the kind of a wait.
type WaitKind uint8

// Kinds of waits known to run-time systems.
const (
	// WaitNone is an unknown wait.
	WaitNone WaitKind = iota
	// WaitMonitor is for the lock of an object.
	WaitMonitor
	// WaitObject is for a notification at an object.
	WaitObject
	// WaitPark is until another thread wakes it.
	WaitPark
	// WaitSleep is for a time.
	WaitSleep
	// WaitLock is for a lock with a stored owner.
	WaitLock
	// WaitGIL is for the interpreter lock.
	WaitGIL
)

// Wait is what a thread waits for. Unknown values are zero.
type Wait struct {
	Kind WaitKind
	// Class is the class of the object.
	Class string
	// Address identifies the object at that moment.
	Address uint64
	// Owner is the owning thread's ID in the process's own pid namespace, at the query.
	Owner int
	// OwnerName is its name in the run-time system.
	OwnerName string
	// Timed reports a time limit.
	Timed bool
	// Later reports that the answer may be more complete later, as after objects were moved.
	Later bool
}
