// SPDX-License-Identifier: Apache-2.0

package waits

import (
	"fmt"
	"strings"

	"prywalk/internal/schema"
)

// Kind is the kind of thing that a thread waits for, as in JSON and labels.
type Kind string

// The kinds.
const (
	None        Kind = ""
	Mutex       Kind = "mutex"
	RWLock      Kind = "rwlock"
	Condition   Kind = "condition"
	Join        Kind = "join"
	Semaphore   Kind = "semaphore"
	Barrier     Kind = "barrier"
	Guard       Kind = "static-guard" // static initialisation in C++
	Once        Kind = "once"
	Atomic      Kind = "atomic"
	Future      Kind = "future"    // std::future
	Park        Kind = "park"      // until woken: Go, Rust, parking_lot, abseil
	LibraryLock Kind = "libc-lock" // within the C library, as malloc's
	Futex       Kind = "futex"     // a word of unknown meaning
	Descriptor  Kind = "descriptor"
	Child       Kind = "child"
	Sleep       Kind = "sleep"
	Signal      Kind = "signal"
	FileLock    Kind = "file-lock"
	Queue       Kind = "message-queue"
	Disk        Kind = "disk"
	PageFault   Kind = "page-fault"
	Stopped     Kind = "stopped"
	Frozen      Kind = "frozen"
	Other       Kind = "other"
)

// Wait is what a thread waits for. Unknown values are zero, and omitted in JSON.
type Wait struct {
	Kind Kind `json:"kind"`
	// Type is the kind of the lock: "normal", "recursive", "error-checking", "adaptive", with "robust", "PI", "shared".
	// Of a semaphore it is what is made of it: "threading.Lock", "threading.RLock", "threading.Condition", "lock of
	// CPython".
	Type string `json:"type,omitempty"`
	// Mode is "read" or "write" for a rwlock.
	Mode string `json:"mode,omitempty"`
	// Address is that of the lock, or, if unknown, of the futex word.
	Address schema.Hex `json:"address,omitempty"`
	// Symbol is the name of the variable at Address, with an offset within it.
	Symbol string `json:"symbol,omitempty"`
	// Owner is the thread that holds it, or that a join waits for: an id in prywalk's pid namespace. 0: unknown.
	Owner int `json:"owner,omitempty"`
	// OwnerName is its name, for people.
	OwnerName string `json:"owner_name,omitempty"`
	// OwnerGone is the number in the lock of a holder that is no live thread of the process. It has ended, or it was
	// another process's from which this one was forked. The number is as the target sees it.
	OwnerGone int `json:"owner_gone,omitempty"`
	// Free reports that it was free, or changing owner, when it was read.
	Free bool `json:"free,omitempty"`
	// Readers is the number of read locks on a rwlock.
	Readers int `json:"readers,omitempty"`
	// Why is why no owner is named, for locks.
	Why string `json:"why,omitempty"`
	// Timed reports that the wait ends by itself at some time.
	Timed bool `json:"timed,omitempty"`
	// Until is when, or after how long, in words.
	Until string `json:"until,omitempty"`
	// FD is the descriptor that is waited for; FDs those of poll and select.
	FD  *File  `json:"descriptor,omitempty"`
	FDs []File `json:"descriptors,omitempty"`
	// Child is the process that is waited for: 0 any.
	Child int `json:"child,omitempty"`
	// Idle is the rule by which the wait is idle; "" for none.
	Idle string `json:"idle,omitempty"`

	inner   int // owner in the target's pid namespace, until resolved
	shared  bool
	managed bool // a run-time system's answer
}

// HasOwner reports whether things of this kind can hold their owner.
func (k Kind) HasOwner() bool {
	return k == Mutex || k == RWLock || k == Join || k == Monitor || k == GIL
}

// IsSynchronization reports whether a wait of this kind is for other threads: a lock, a condition, a barrier, an end.
func (k Kind) IsSynchronization() bool {
	switch k {
	case Mutex, RWLock, Join, Condition, Semaphore, Barrier, Guard, Once, Atomic, Park, LibraryLock, Futex, Future,
		Monitor, ObjectWait, GIL:
		return true
	}
	return false
}

// Shared reports whether the lock may be another process's, too.
func (w *Wait) Shared() bool { return w.shared }

// Thing names what is waited for, without its owner: "mutex cache_mu", "rwlock 0x55d0c0ffee40".
func (w *Wait) Thing() string {
	name := string(w.Kind)
	switch {
	case w.Kind == Semaphore && w.Type != "":
		return TypedSemaphore(w.Type, w.semaphore())
	case w.Kind == Descriptor && w.FD != nil:
		return w.FD.String()
	case w.Kind == Descriptor && len(w.FDs) == 1:
		return w.FDs[0].String()
	case w.Kind == Descriptor && len(w.FDs) > 1:
		return fmt.Sprintf("%d descriptors", len(w.FDs))
	case w.Kind == Child && w.Child > 0:
		return fmt.Sprintf("child process %d", w.Child)
	case w.Symbol != "":
		return name + " " + w.Symbol
	case w.Address != 0:
		return fmt.Sprintf("%s %#x", name, uint64(w.Address))
	}
	return name
}

// TypedSemaphore names a semaphore that a lock of type what is made of: "threading.Lock (semaphore 0x55d0c0ffee40)".
func TypedSemaphore(what, semaphore string) string { return what + " (" + semaphore + ")" }

// Shown is a label as people read it: a semaphore behind the name of what is made of it.
func Shown(label string) string {
	semaphore, what, ok := strings.Cut(label, " (")
	if ok && strings.HasPrefix(label, string(Semaphore)+" ") && strings.HasSuffix(what, ")") {
		return TypedSemaphore(strings.TrimSuffix(what, ")"), semaphore)
	}
	return label
}

// semaphore names a semaphore without its type.
func (w *Wait) semaphore() string {
	plain := *w
	plain.Type = ""
	return plain.Thing()
}

// Label names what is waited for, the same for all its waiters. It begins with the kind. A join is named by its
// thread.
func (w *Wait) Label() string {
	switch {
	case w.Kind == Semaphore && w.Type != "":
		return w.semaphore() + " (" + w.Type + ")"
	case w.Kind == Join:
		return fmt.Sprintf("%s thread %d", Join, w.Owner)
	case w.Kind == GIL && w.OwnerName != "":
		return fmt.Sprintf("%s held by %s", GIL, w.OwnerName)
	case w.Kind == GIL && w.Owner != 0:
		return fmt.Sprintf("%s held by thread %d", GIL, w.Owner)
	case w.managed && w.Symbol == "": // addresses differ in each run
		return string(w.Kind)
	}
	return w.Thing()
}

// String gives one line: "mutex cache_mu (normal), held by thread 4713".
func (w *Wait) String() string {
	if w.Kind == None {
		return ""
	}
	text := w.Thing()
	if w.Kind == Join && w.Owner != 0 {
		text = "the end of"
	}
	details := strings.TrimSpace(w.Type + " " + w.Mode)
	if w.Kind == Semaphore { // named by its type
		details = ""
	}
	held := w.holder()
	if held == "" && w.Why != "" {
		details = strings.TrimPrefix(details+"; "+w.Why, "; ")
	}
	if details != "" {
		text += " (" + details + ")"
	}
	text += held
	if w.Until != "" {
		text += " " + w.Until
	} else if w.Timed && w.Kind != Sleep {
		text += ", with a time-out"
	}
	if w.Idle != "" {
		text += " [idle: " + w.Idle + "]"
	}
	return text
}

func (w *Wait) holder() string {
	switch {
	case w.Owner != 0 && w.Kind == Join:
		return strings.TrimRight(fmt.Sprintf(" thread %d %s", w.Owner, w.OwnerName), " ")
	case w.Owner != 0:
		return strings.TrimRight(fmt.Sprintf(", held by thread %d %s", w.Owner, w.OwnerName), " ")
	case w.OwnerGone != 0:
		return fmt.Sprintf(", taken by thread %d, which has ended", w.OwnerGone)
	case w.Readers == 1:
		return ", held by 1 reader"
	case w.Readers > 1:
		return fmt.Sprintf(", held by %d readers", w.Readers)
	}
	return ""
}

// Sleeping says how long a sleep is, as far as it is known.
func (w *Wait) Sleeping() string {
	length, whole := strings.CutPrefix(w.Until, "for ")
	switch {
	case w.Until == "":
		return "sleeps (duration not known)"
	case whole && !strings.HasSuffix(length, " more"):
		return "sleeps; asked for " + length
	}
	return "sleeps " + w.Until
}

// Variable is a static variable, and the offset of an address in it.
type Variable struct {
	Name   string
	Offset uint64
}

// conditionWords bound the offset of futex words in glibc's condition variable
// (sysdeps/nptl/bits/thread-shared-types.h; another order since glibc 2.41).
const conditionWords = 0x20 | 0x0c

// SetVariable sets the static variable of w.Address. It gives a condition its address, as waiters use several
// words in it.
func (w *Wait) SetVariable(v Variable) {
	if w.managed { // not in a variable
		return
	}
	w.Symbol = v.Name
	if v.Name == "" || v.Offset == 0 {
		return
	}
	if w.Kind == Condition && v.Offset&^conditionWords == 0 {
		w.Address -= schema.Hex(v.Offset)
		return
	}
	w.Symbol = fmt.Sprintf("%s+%#x", v.Name, v.Offset)
}
