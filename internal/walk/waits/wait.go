// SPDX-License-Identifier: Apache-2.0

package waits

import (
	"fmt"
	"strings"

	"prywalk/internal/base/languages"
	"prywalk/internal/base/schema"
)

// Wait is what a thread waits for. Unknown values are zero, and omitted in JSON. Its texts:
//
//	Object           the thing
//	Label            Object, equal for all waiters of one thing, for recordings
//	String           Object, type, owner, time-out and idle rule, for dumps
//	ParsedLabel      a Label, for a reader
type Wait struct {
	Kind Kind `json:"kind"`
	// Type is a mutex's type: "normal", "recursive", "error-checking", "adaptive", with "robust", "PI", "shared". Of a
	// semaphore it is what is made of it: "threading.Lock", "threading.RLock", "threading.Condition", "lock of
	// CPython". Of a database's lock it is SQLite.
	Type string `json:"type,omitempty"`
	// Mode is "read" or "write", of a rwlock.
	Mode string `json:"mode,omitempty"`
	// Address is the lock's, or if that is unknown, the futex word's.
	Address schema.Hex `json:"address,omitempty"`
	// Symbol is the variable at Address, with the offset in it, or the class of a managed object.
	Symbol string `json:"symbol,omitempty"`
	Ownership
	// Timed reports that the wait has a time-out.
	Timed bool `json:"timed,omitempty"`
	// Until is when or after how long it ends, in words.
	Until string `json:"until,omitempty"`
	// FD is the descriptor waited for, FDs are those of poll and select, and both of splice and tee.
	FD  *OpenFile  `json:"descriptor,omitempty"`
	FDs []OpenFile `json:"descriptors,omitempty"`
	// Path is the path that a call looks up, such as open.
	Path string `json:"path,omitempty"`
	// Child is the process waited for; 0 means any.
	Child int `json:"child,omitempty"`
	Idleness

	childName   string
	lockClasses []string
	managed     bool
	ofWaiter    bool // Address is a word of this waiter alone
}

// ManagedWait is a runtime's answer. class is the awaited object's; owner is a thread ID in the target's pid namespace,
// or 0 if it is unknown.
func ManagedWait(kind Kind, class string, address uint64, owner int, timed bool) Wait {
	w := Wait{
		Kind: kind, Symbol: class, Address: schema.Hex(address), Ownership: Ownership{ownerInnerTID: owner}, Timed: timed,
		managed: true,
	}
	if kind == Semaphore {
		w.Type, w.Symbol, w.Why = class, "", (&primitive{kind: kind}).why()
	}
	return w
}

// OnlyFile returns the descriptor waited for, or nil for none and for several.
func (w *Wait) OnlyFile() *OpenFile {
	if w.FD == nil && len(w.FDs) == 1 {
		return &w.FDs[0]
	}
	return w.FD
}

// IsManaged reports whether it is a runtime's answer.
func (w *Wait) IsManaged() bool { return w.managed }

// IsLock reports whether the wait is certainly for a lock: not for a condition, barrier, thread's end or the like.
func (w *Wait) IsLock() bool {
	switch w.Kind {
	case Mutex, RWLock, LibraryLock, FileLock, DatabaseLock, Monitor, GIL:
		return true
	case Semaphore:
		return w.Type != "" && w.Type != languages.PythonCondition
	case Park:
		return w.Owner != 0 || w.OwnerTask != 0
	}
	return false
}

// IsPrivateLock reports a wait for a lock in memory that no other process maps, whose owner is not known to live.
// Signal handlers can release it, and processes that share all memory (vfork).
func (w *Wait) IsPrivateLock() bool {
	switch w.Kind {
	case Mutex, RWLock, LibraryLock, Semaphore:
		return w.IsLock() && !w.shared && !w.Free && w.Owner == 0 && w.OwnerTask == 0
	}
	return false
}

// Object omits the owner: "mutex cache_mu", "rwlock 0x55d0c0ffee40".
func (w *Wait) Object() string {
	name := string(w.Kind)
	switch {
	case w.Kind == Semaphore && w.Type != "":
		return typedSemaphore(w.Type, w.semaphore())
	case w.Kind == DatabaseLock && w.Type != "":
		return w.Type + "'s lock"
	case w.Kind == FileLock && w.FD != nil:
		return name + " " + w.FD.String()
	case w.Kind == Disk && w.FD != nil:
		return name + ": " + w.FD.String()
	case w.Kind == Descriptor && w.OnlyFile() != nil:
		return w.OnlyFile().String()
	case w.Kind == Descriptor && len(w.FDs) > 1:
		return fmt.Sprintf("%d descriptors", len(w.FDs))
	case w.Kind == Disk && w.Path != "":
		return name + ": " + w.Path
	case w.Path != "":
		return w.Path
	case w.Kind == Child && w.Child > 0:
		return strings.TrimSpace(fmt.Sprintf("child process %d %s", w.Child, w.childName))
	case w.Symbol != "":
		return name + " " + w.Symbol
	case w.Address != 0:
		return fmt.Sprintf("%s %#x", name, uint64(w.Address))
	}
	return name
}

func typedSemaphore(what, semaphore string) string { return what + " (" + semaphore + ")" }

func (w *Wait) semaphore() string {
	plain := *w
	plain.Type = ""
	return plain.Object()
}

// Label is equal for all waiters of one thing; [ParsedLabel] has the form of that of synchronization. A join is
// labelled with its thread, if that is known.
func (w *Wait) Label() string {
	switch {
	case w.Kind == Semaphore && w.Type != "":
		return w.semaphore() + " (" + w.Type + ")"
	case w.Kind == Mutex && w.managed && w.Symbol == languages.PythonRLock: // one label, whether or not its owner is known
		return fmt.Sprintf("%s %#x (%s)", Semaphore, uint64(w.Address), w.Symbol)
	case w.Kind == Join && w.Owner != 0:
		return fmt.Sprintf("%s thread %d", Join, w.Owner)
	case w.managed && w.Symbol == "", w.ofWaiter: // addresses differ in each run
		return string(w.Kind)
	}
	return w.Object()
}

// String returns "mutex cache_mu (normal), held by thread 4713".
func (w *Wait) String() string {
	if w.Kind == NoWait {
		return ""
	}
	text := w.Object()
	switch {
	case w.Kind == Join && w.Owner != 0:
		text = "the end of"
	case len(w.FDs) > 1:
		text += ": " + listOf(w.FDs)
	}
	details := strings.TrimSpace(w.Type + " " + w.Mode)
	if w.Kind == Semaphore || w.Kind == DatabaseLock { // in Object
		details = ""
	}
	held := w.OwnerText()
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
	if mark := w.Mark(); mark != "" {
		text += " " + mark
	}
	return text
}

// OwnerText returns ", held by thread 4713 journal", or "".
func (w *Wait) OwnerText() string {
	switch {
	case w.Owner != 0 && w.Kind == Join:
		return strings.TrimRight(fmt.Sprintf(" thread %d %s", w.Owner, w.OwnerName), " ")
	case w.Owner != 0:
		return strings.TrimRight(fmt.Sprintf(", held by thread %d %s", w.Owner, w.OwnerName), " ")
	case w.OwnerTask != 0:
		return strings.TrimRight(fmt.Sprintf(", held by virtual thread #%d %s", w.OwnerTask, w.OwnerName), " ")
	case w.OwnerProcess != 0:
		return ", " + w.OwnerProcessText()
	case w.OwnerGone != 0:
		return ", " + w.EndedOwnerText()
	case w.Readers == 1:
		return ", held by 1 reader"
	case w.Readers > 1:
		return fmt.Sprintf(", held by %d readers", w.Readers)
	}
	return ""
}

// SleepText describes a sleep and its length.
func (w *Wait) SleepText() string {
	length, whole := strings.CutPrefix(w.Until, "for ")
	switch {
	case w.Until == "":
		return "sleeps (duration not known)"
	case whole && !strings.HasSuffix(length, " more"):
		return "sleeps; asked for " + length
	}
	return "sleeps " + w.Until
}

// Variable is a static variable and an offset in it.
type Variable struct {
	Name   string
	Offset uint64
}

// conditionWords are bits of the futex words' offsets in glibc's condition (sysdeps/nptl/bits/thread-shared-types.h;
// another order since 2.41).
const conditionWords = 0x20 | 0x0c

// pythonRuntime is CPython's variable whose mutexes and conditions are parts of the GIL
// (Include/internal/pycore_gil.h). Its other locks are semaphores.
const pythonRuntime = "_PyRuntime"

// SetVariable sets the static variable of w.Address. A condition's w.Address becomes its own.
func (w *Wait) SetVariable(v Variable) {
	if w.managed { // not in a variable
		return
	}
	if v.Name == pythonRuntime && (w.Kind == Mutex || w.Kind == Condition) {
		free := Ownership{Free: true, Why: whyFreeOrChanging}
		*w = Wait{Kind: GIL, Ownership: free, Timed: w.Timed, managed: true}
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
