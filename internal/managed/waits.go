// SPDX-License-Identifier: Apache-2.0

package managed

import "prywalk/frames"

// Waiter is a Runtime that knows what its sleeping threads wait for, where the kernel shows a futex only.
type Waiter interface {
	// Waiting tells what a thread waits for. It reports false for a thread that the run-time system does not have, and
	// wherever its structures do not prove what they say: then the kernel's word stays. It is asked for each new sleep, by
	// the goroutine that walks.
	Waiting(s *Sleeper) (Wait, bool)
}

// Holder is a Namer that shows which locks a thread is likely to hold, by its frames.
type Holder interface {
	Namer
	// Holds gives the locks whose blocks the frames of the last walk are inside of. It reads the process as it is now: the
	// thread must not have run since.
	Holds() []Held
}

// Held is a lock that a frame is inside the block of.
type Held struct {
	// Word is the address that waiters of the lock sleep at.
	Word uint64
	// Class is the lock's class.
	Class string
	// Function, File and Line are where the frame is.
	Function, File string
	Line           int
}

// Sleeper is a thread that sleeps in futex(2).
type Sleeper struct {
	// TID is the thread's number in its own pid namespace, as the process itself knows it.
	TID int
	// Word is the address that it sleeps at.
	Word uint64
	// Mem is what the look has copied of its memory; nil if that is not there any more.
	Mem frames.Memory
	// Live reads the process's memory. Unchanged tells whether the thread still sleeps that sleep.
	Live Live
}

// WaitKind says what kind of thing a thread waits for.
type WaitKind uint8

// The kinds of waits that run-time systems know.
const (
	// WaitNone is no wait that is known.
	WaitNone WaitKind = iota
	// WaitMonitor is for a lock that belongs to an object of the language.
	WaitMonitor
	// WaitObject is for a notification at an object.
	WaitObject
	// WaitPark is until another thread of the program wakes it.
	WaitPark
	// WaitSleep is for a time.
	WaitSleep
	// WaitLock is for a lock of the language that keeps its owner.
	WaitLock
	// WaitGIL is for the right to run the interpreter, which one thread has at a time.
	WaitGIL
)

// Wait is what a thread waits for. What is not known is zero.
type Wait struct {
	Kind WaitKind
	// Class is the class of the object that it waits for.
	Class string
	// Address tells the object from others at that moment.
	Address uint64
	// Owner is the thread that has it, by its number in the process's own pid namespace, as of the moment of asking; it
	// may be another one at the next.
	Owner int
	// OwnerName is its name, if the run-time system has one.
	OwnerName string
	// Timed: the wait ends by itself at some time.
	Timed bool
	// Later: not all that could be told was, as while objects are moved, or as the thread has just woken. It may be a
	// little later. It counts also if nothing was told.
	Later bool
}
