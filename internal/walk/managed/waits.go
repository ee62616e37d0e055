// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"prywalk/frames"
	"prywalk/internal/walk/waits"
)

// HeldLock is a lock in whose block a frame is.
type HeldLock struct {
	// Word is the address at which waiters sleep. Function, File and Line are the frame's position.
	Word           uint64
	Class          string
	Function, File string
	Line           int
}

// WaitQuery is about a thread asleep in futex(2), at Word, or in ppoll(2).
type WaitQuery struct {
	InnerTID int
	Word     uint64
	// Mem is the copied memory, nil if gone.
	Mem frames.Memory
	// Live.Unchanged reports whether the same sleep continues. nil: only the copy is known.
	Live Live
	// Timed: the call has a time-out.
	Timed bool
	// Still: Mem is a core's.
	Still bool
}

// WaitAnswer is what the runtime knows of a wait. Unknown values are zero.
type WaitAnswer struct {
	// Kind is waits.Monitor, ObjectWait, Park, Sleep, Mutex, Semaphore, GIL or Join (the owner's end).
	Kind    waits.Kind
	Class   string
	Address uint64
	// Owner is the owning thread's ID at the query.
	Owner int
	// OwnerTask is [Task].ID of the owner without a thread.
	OwnerTask uint64
	// OwnerName is the owner's name in the runtime (CPython).
	OwnerName string
	Timed     bool
	// Later: the answer may be more complete later.
	Later bool
}
