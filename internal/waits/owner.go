// SPDX-License-Identifier: Apache-2.0

package waits

// Places in pthread_mutex_t of glibc, and bits of its kind (sysdeps/nptl/bits/struct_mutex.h, nptl/pthreadP.h).
const (
	mutexOwner    = 8
	mutexKind     = 16
	mutexType     = 3
	mutexRobust   = 16
	mutexPI       = 32
	mutexPP       = 64
	mutexShared   = 128
	mutexElision  = 256 | 512
	mutexCeiling  = 0xfff80000 // in the kind and the word of one with a ceiling
	mutexAllFlags = mutexType | mutexRobust | mutexPI | mutexPP | mutexShared | mutexElision
)

// mutexTypes are the names of the types of mutexes, by number. Type 0 is what PTHREAD_MUTEX_INITIALIZER makes.
var mutexTypes = [...]string{"normal", "recursive", "error-checking", "adaptive"}

// knownMutex reports whether a kind is one that glibc makes.
func knownMutex(kind uint32) bool {
	if kind&mutexPP != 0 {
		kind &^= mutexCeiling
	}
	return kind&^mutexAllFlags == 0
}

// noCopy says that the lock could not be read.
const noCopy = "its memory could not be read"

// glibcMutex fills in who holds a mutex of glibc at w.Address.
func (w *For) glibcMutex(near *Copy) {
	addr := uint64(w.Address)
	word, ok1 := near.u32(addr)
	owner, ok2 := near.u32(addr + mutexOwner)
	kind, ok3 := near.u32(addr + mutexKind)
	if !ok1 || !ok2 || !ok3 {
		w.Why = noCopy
		return
	}
	if !knownMutex(kind) {
		w.Why = "its memory is not a valid mutex of glibc"
		return
	}
	w.Type = mutexTypes[kind&mutexType]
	for _, f := range []struct {
		bit  uint32
		name string
	}{{mutexRobust, " robust"}, {mutexPI, " PI"}, {mutexShared, " shared"}} {
		if kind&f.bit != 0 && (f.bit != mutexShared || kind&mutexRobust == 0) { // robust ones have both bits
			w.Type += f.name
		}
	}
	w.shared = kind&mutexShared != 0
	switch {
	case word&^mutexCeiling == 0 && kind&mutexPP != 0, word == 0:
		w.Why, w.Free = passedOn, true
	case kind&(mutexRobust|mutexPI) != 0:
		w.held(word)
	default:
		w.inner = int(owner)
		if owner == 0 {
			w.Why = passedOn
		}
	}
}

// passedOn says that a lock was free, or not yet written by who has it, when it was read.
const passedOn = "free or changing owner when read"

// held takes the holder from the word itself.
func (w *For) held(word uint32) {
	w.inner = int(word & futexTIDMask)
	w.Free = w.inner == 0
	switch {
	case !w.Free:
	case word&futexOwnerDied != 0:
		w.Why = "its owner ended without unlocking it"
	default:
		w.Why = passedOn
	}
}

// ownerPI fills in who holds a lock that the kernel passes on: the word is the kernel's, whatever the object is.
func (w *For) ownerPI(near *Copy) {
	word, ok := near.u32(uint64(w.Address))
	if !ok {
		w.Why = noCopy
		return
	}
	w.Type = "PI"
	if kind, ok := near.u32(uint64(w.Address) + mutexKind); ok && knownMutex(kind) && kind&mutexPI != 0 {
		w.Type = mutexTypes[kind&mutexType] + " PI"
	}
	w.held(word)
}

// Places in pthread_rwlock_t of glibc, and bits of its count of readers (sysdeps/nptl/bits/struct_rwlock.h,
// nptl/pthread_rwlock_common.c).
const (
	rwPhaseWord   = 8
	rwWritersWord = 12
	rwWriter      = 24
	rwWritePhase  = 1
	rwWriteLocked = 2
	rwReaderShift = 3
)

// glibcRWLock fills in who holds a rwlock of glibc. w.Address is the word of the sleep, and becomes the lock's. The
// lock is aligned to 8 bytes, which tells the two words apart.
func (w *For) glibcRWLock(near *Copy) {
	base := uint64(w.Address) - rwPhaseWord
	if w.Address%8 != 0 {
		base = uint64(w.Address) - rwWritersWord
	}
	readers, ok1 := near.u32(base)
	writer, ok2 := near.u32(base + rwWriter)
	if !ok1 || !ok2 {
		w.Why = noCopy
		return
	}
	w.Address = Address(base)
	switch {
	case readers&rwWritePhase == 0 && readers>>rwReaderShift > 0:
		w.Readers = int(readers >> rwReaderShift)
	case readers&rwWritePhase != 0 && readers&rwWriteLocked != 0 && writer != 0:
		w.inner = int(writer)
	default:
		w.Why = passedOn
	}
}

// muslMutex fills in who holds a mutex of musl (src/internal/pthread_impl.h; pthread_mutex_timedlock.c): w.Address is
// its second word. One of the normal kind has no owner.
func (w *For) muslMutex(near *Copy) {
	addr := uint64(w.Address)
	word, ok1 := near.u32(addr)
	kind, ok2 := near.u32(addr - 4)
	if !ok1 || !ok2 || kind&^(mutexType|4|8|128) != 0 {
		w.Why = noCopy
		return
	}
	w.Address -= 4
	w.shared = kind&128 != 0
	w.Type = mutexTypes[kind&mutexType]
	if kind&4 != 0 {
		w.Type += " robust"
	}
	if kind&15 == 0 {
		w.Why = "musl stores no owner of a normal mutex"
		return
	}
	w.held(word)
}

// muslJoinable is the state of a thread of musl that runs and can be joined. muslTIDBefore is how far before the
// word of its state its number lies (src/internal/pthread_impl.h, struct pthread).
const (
	muslJoinable  = 2
	muslTIDBefore = 8
)

// muslJoin fills in the thread whose end is waited for.
func (w *For) muslJoin(value uint32, near *Copy) {
	addr := uint64(w.Address)
	state, ok1 := near.u32(addr)
	tid, ok2 := near.u32(addr - muslTIDBefore)
	if ok1 && ok2 && state == muslJoinable && value == muslJoinable {
		w.inner = int(tid & futexTIDMask)
	}
}

// Threads finds the live threads of the processes that are looked at.
type Threads interface {
	// Thread gives the number, as prywalk sees it, of the live thread that the waiter's process knows by the number
	// inner. shared: it may be another process's that is looked at, too. False if there is none.
	Thread(inner int, shared bool) (tid int, ok bool)
}

// Resolve turns the number in the lock into that of a live thread, once. self is the waiter: who holds the lock that it
// waits for itself has locked it twice, which is true for a normal mutex.
func (w *For) Resolve(t Threads) {
	if w.inner == 0 {
		return
	}
	inner := w.inner
	w.inner = 0
	if tid, ok := t.Thread(inner, w.shared); ok {
		w.Owner = tid
		return
	}
	if w.shared {
		w.Why = "held by another process, or by a thread that has ended"
		return
	}
	if w.Kind != Join { // who has ended is waited for no longer than it takes to wake up
		w.OwnerGone = inner
	}
}
