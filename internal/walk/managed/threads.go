// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"prywalk/frames"
	"prywalk/internal/walk/waits"
)

// ThreadNamer is a FrameSource that knows its threads' names.
type ThreadNamer interface {
	FrameSource
	// ThreadName returns the program's name of a thread, if it has one; the kernel's is cut at 15 bytes.
	ThreadName(innerTID int) (name string, ok bool)
}

// ThreadRoles is a ThreadNamer whose runtime has threads of its own.
type ThreadRoles interface {
	ThreadNamer
	// Postponed reports whether a name's query since its last call failed and may succeed later.
	Postponed() bool
	// Role returns the role of a thread with a displayed name ([languages.RoleApplication] …), or false if it is unknown.
	Role(innerTID int, name string) (role string, ok bool)
}

// LockHolder is a FrameSource that knows the locks of its frames.
type LockHolder interface {
	FrameSource
	// HeldLocks returns the locks in whose blocks the last walk's frames are, if the thread has not run since.
	HeldLocks() []HeldLock
}

// Threads is a FrameSource that knows what its threads wait for, and tasks without a thread.
type Threads interface {
	FrameSource
	// Waiting says what a thread in futex(2) or ppoll(2) waits for; it returns false if it is unproven. A recording asks
	// until an answer is not Later, a dump again to confirm.
	Waiting(q *WaitQuery) (WaitAnswer, bool)
	// Coroutines returns at most [MostTasks] tasks without a thread, each read consistently ([Task.Undisturbed]).
	Coroutines(w Watch) TaskList
	// TaskPlaces returns the addresses of all tasks, or their numbers, for TasksAt; some may have ended. The caller
	// may keep the list: later calls return another one, or the same unchanged.
	TaskPlaces() []uint64
	// TasksAt reads the tasks at places, without tasks that they gather, and yields each at most once; an ended one has
	// no frames. ok is false if it kept changing.
	TasksAt(places []uint64, w Watch, yield func(place uint64, t Task, ok bool))
	// ChangedTasks returns those of places that TasksAt is to read. Each other task waits where TasksAt last yielded
	// it; it may have run in between. From the first call on, TasksAt may omit names and what tasks wait for.
	ChangedTasks(places []uint64) []uint64
}

// PthreadTID is the offset of the thread ID in glibc's struct pthread on x86-64 (nptl/descr.h), bytes.
const PthreadTID = 720

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
	// Live.Unchanged reports whether the same sleep continues. It is nil if only the copy is known.
	Live Live
	// Timed means that the call has a time-out.
	Timed bool
	// Still means that Mem is a core's.
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
	// Later means that the answer may be more complete later.
	Later bool
}
