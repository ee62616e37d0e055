// SPDX-License-Identifier: Apache-2.0

package waits

import (
	"fmt"
	"strconv"
	"strings"
)

// Kind says what kind of thing a thread waits for, in the words that JSON and labels use.
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
	Guard       Kind = "static-guard" // the initialisation of a static variable of C++
	Once        Kind = "once"
	Atomic      Kind = "atomic"     // std::atomic::wait
	Future      Kind = "future"     // the result of another thread: std::future
	Park        Kind = "park"       // until another thread of the program wakes it: Go, Rust, parking_lot, abseil
	LibraryLock Kind = "libc-lock"  // a lock within the C library, as malloc's
	Futex       Kind = "futex"      // a word that nothing more is known of
	Descriptor  Kind = "descriptor" // one or more of them
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

// Address is an address in the target's memory; JSON shows it as a string in hexadecimal.
type Address uint64

// MarshalText implements encoding.TextMarshaler.
func (a Address) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "%#x", uint64(a)), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (a *Address) UnmarshalText(b []byte) error {
	v, err := strconv.ParseUint(string(b), 0, 64)
	*a = Address(v)
	return err
}

// For is what a thread waits for. What is not known is zero, and left out of JSON.
type For struct {
	Kind Kind `json:"kind"`
	// Type is the kind of the lock: "normal", "recursive", "error-checking", "adaptive", with "robust", "PI", "shared".
	Type string `json:"type,omitempty"`
	// Mode is "read" or "write" for a rwlock.
	Mode string `json:"mode,omitempty"`
	// Address is that of the lock, or, where that does not follow, of the word that the thread sleeps at.
	Address Address `json:"address,omitempty"`
	// Symbol is the name of the variable at Address, with an offset if it lies within.
	Symbol string `json:"symbol,omitempty"`
	// Owner is the thread that holds it, or, of a join, that is waited for: a number as prywalk sees it. 0: not known.
	Owner int `json:"owner,omitempty"`
	// OwnerName is its name, for people.
	OwnerName string `json:"owner_name,omitempty"`
	// OwnerGone is the number in the lock of a holder that is no live thread of the process. It has ended, or it was
	// another process's from which this one was forked. The number is as the target sees it.
	OwnerGone int `json:"owner_gone,omitempty"`
	// Free: nobody held it at the moment of the look; it was free or changing owner when read.
	Free bool `json:"free,omitempty"`
	// Readers is how many hold a rwlock to read.
	Readers int `json:"readers,omitempty"`
	// Why is why no owner is named, for locks.
	Why string `json:"why,omitempty"`
	// Timed: the wait ends by itself at some time.
	Timed bool `json:"timed,omitempty"`
	// Until is when, or after how long, in words.
	Until string `json:"until,omitempty"`
	// FD is the descriptor that is waited for; FDs those of poll and select.
	FD  *File  `json:"descriptor,omitempty"`
	FDs []File `json:"descriptors,omitempty"`
	// Child is the process that is waited for: 0 any.
	Child int `json:"child,omitempty"`
	// Idle is the rule by which the wait is idleness, not a hindrance; "" if it is none.
	Idle string `json:"idle,omitempty"`

	inner   int // the owner's number as the target sees it, until it is resolved
	shared  bool
	managed bool // a run-time system has said it
}

// HasOwner reports whether things of this kind can say who holds them.
func (k Kind) HasOwner() bool {
	return k == Mutex || k == RWLock || k == Join || k == Monitor || k == GIL
}

// IsLock reports whether the thing is one that threads hold and others wait for.
func (k Kind) IsLock() bool {
	switch k {
	case Mutex, RWLock, Join, Condition, Semaphore, Barrier, Guard, Once, Atomic, Park, LibraryLock, Futex, Future,
		Monitor, ObjectWait, GIL:
		return true
	}
	return false
}

// Shared reports whether the lock may be another process's, too.
func (w *For) Shared() bool { return w.shared }

// Thing names what is waited for, without who holds it: "mutex cache_mu", "rwlock 0x55d0c0ffee40".
func (w *For) Thing() string {
	name := string(w.Kind)
	switch {
	case w.Kind == Descriptor && w.FD != nil:
		return w.FD.String()
	case w.Kind == Descriptor && len(w.FDs) > 0:
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

// Label names what is waited for in the same words for all who wait for it, for labels of a recording. A join is told
// from others by its thread.
func (w *For) Label() string {
	switch {
	case w.Kind == Join:
		return fmt.Sprintf("%s thread %d", Join, w.Owner)
	case w.Kind == GIL && w.OwnerName != "":
		return fmt.Sprintf("%s held by %s", GIL, w.OwnerName)
	case w.Kind == GIL && w.Owner != 0:
		return fmt.Sprintf("%s held by thread %d", GIL, w.Owner)
	case w.managed && w.Symbol == "": // an address that is another one in each run says nothing
		return string(w.Kind)
	}
	return w.Thing()
}

// String says it in a line: "mutex cache_mu (normal), held by thread 4713".
func (w *For) String() string {
	if w.Kind == None {
		return ""
	}
	text := w.Thing()
	if w.Kind == Join && w.Owner != 0 {
		text = "the end of"
	}
	details := strings.TrimSpace(strings.Join([]string{w.Type, w.Mode}, " "))
	if details != "" {
		text += " (" + strings.TrimSpace(details) + ")"
	}
	text += w.holder()
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

// holder says who holds it.
func (w *For) holder() string {
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
	case w.Why != "":
		return ", " + w.Why
	}
	return ""
}

// Variable is a static variable, and how far in it an address lies.
type Variable struct {
	Name   string
	Offset uint64
}

// conditionWords are how far in a condition variable of glibc the words that waiters sleep at can lie
// (sysdeps/nptl/bits/thread-shared-types.h; another order since glibc 2.41).
const conditionWords = 0x20 | 0x0c

// SetVariable takes the static variable that w.Address lies in. Conditions are waited on at words within them, which
// may be several for one condition: of a static one the address is then known.
func (w *For) SetVariable(v Variable) {
	if w.managed { // it lies in no variable, and has the name of its class
		return
	}
	w.Symbol = v.Name
	if v.Name == "" || v.Offset == 0 {
		return
	}
	if w.Kind == Condition && v.Offset&^conditionWords == 0 {
		w.Address -= Address(v.Offset)
		return
	}
	w.Symbol = fmt.Sprintf("%s+%#x", v.Name, v.Offset)
}
