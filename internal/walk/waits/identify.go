// SPDX-License-Identifier: Apache-2.0

package waits

import "strings"

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
	DatabaseLock Kind = "database-lock" // of PostgreSQL: of a row, a table …; of SQLite
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

// ClassInitialization is what stands for the object of a Java thread that waits until another has initialized a class.
const ClassInitialization = "(initialization of a class by another thread)"

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

// StackFunction is a function of a stack, and its file.
type StackFunction struct{ Function, Module string }

// MaxFunctions bounds the examined functions.
const MaxFunctions = 14

// IsIdentified reports whether outer native functions cannot change what a stack waits for.
func IsIdentified(stack []StackFunction) bool {
	_, done := identify(stack)
	return done
}

// identify returns the primitive at which a stack, innermost function first, waits: malloc's lock, not the mutex around
// malloc. A weakPrimitive is only taken if none of the other tables follows. done means that outer native functions
// cannot change the answer.
func identify(stack []StackFunction) (p primitive, done bool) {
	musl := false
	for i := range stack[:min(len(stack), MaxFunctions)] {
		n := &stack[i]
		name, plain := n.Function, symbol(n.Function)
		musl = musl || isMusl(n.Module) || strings.HasPrefix(plain, "timedwait")
		if found, ok := libcPrimitives[plain]; ok {
			found.musl = musl
			found.unknownLayout = musl && found.kind != Mutex && found.kind != RWLock
			return found, len(stack) >= MaxFunctions || isOuterKnown(found.kind, stack[i:])
		}
		for j := range libraryPrimitives {
			if strings.Contains(name, libraryPrimitives[j].part) {
				p = libraryPrimitives[j].primitive
				p.unknownLayout = true
				return p, true
			}
		}
		if p.kind == NoWait {
			p = weakPrimitive(name, plain)
		}
		// musl's inner functions have no or wrong names
		inside := n.Module == stack[0].Module && (name == "" || isMusl(n.Module))
		if !inside && !isBelowPrimitive(name) {
			return p, true
		}
	}
	return p, len(stack) >= MaxFunctions
}

// isOuterKnown reports whether outer native functions cannot change a primitive of kind k, whose function is stack[0].
func isOuterKnown(k Kind, stack []StackFunction) bool {
	switch k {
	case Semaphore:
		return isSemaphoreIdentified(stack)
	case Condition:
		_, decided := hotspotWait(stack)
		return decided
	}
	return true
}
