// SPDX-License-Identifier: Apache-2.0

package waits

// Kind is what a thread waits for, as in JSON and labels.
type Kind string

// Values of [Kind].
const (
	NoWait       Kind = ""
	Mutex        Kind = "mutex"
	RWLock       Kind = "rwlock"
	Condition    Kind = "condition"
	Join         Kind = "join"
	Semaphore    Kind = "semaphore"
	Barrier      Kind = "barrier"
	StaticGuard  Kind = "static-guard" // of C++
	Once         Kind = "once"         // another thread's call of a once function
	Atomic       Kind = "atomic"       // a change of a std::atomic
	Future       Kind = "future"       // std::future
	Park         Kind = "park"         // until woken: Go, Rust, parking_lot, abseil; Java, which may know the owner
	LibraryLock  Kind = "libc-lock"    // within the C library, such as malloc's
	Futex        Kind = "futex"        // a word of unknown meaning
	Descriptor   Kind = "descriptor"
	Child        Kind = "child"
	Sleep        Kind = "sleep"
	Signal       Kind = "signal"
	FileLock     Kind = "file-lock"
	DatabaseLock Kind = "database-lock" // of PostgreSQL: of a row, a table …
	MessageQueue Kind = "message-queue"
	Disk         Kind = "disk" // uninterruptible (state D), or sync
	PageFault    Kind = "page-fault"
	Stopped      Kind = "stopped"
	Frozen       Kind = "frozen"
	Other        Kind = "other" // another system call or kernel reason

	Monitor    Kind = "monitor"     // an object's lock, in Java
	ObjectWait Kind = "object-wait" // a notification at an object, or a queue of Ruby
	GIL        Kind = "GIL"         // the lock of a CPython or Ruby interpreter
)

// HasOwner reports whether the kind is a lock or join whose owner is mostly known.
func (k Kind) HasOwner() bool {
	return k == Mutex || k == RWLock || k == Join || k == Monitor || k == GIL
}

// IsSynchronization reports whether waits of this kind are for other threads, perhaps of other processes.
func (k Kind) IsSynchronization() bool {
	switch k {
	case Mutex, RWLock, Join, Condition, Semaphore, Barrier, StaticGuard, Once, Atomic, Park, LibraryLock, Futex,
		Future, FileLock, DatabaseLock, Monitor, ObjectWait, GIL:
		return true
	}
	return false
}
