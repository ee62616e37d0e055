// SPDX-License-Identifier: Apache-2.0

package waits

import "prywalk/internal/base/schema"

// Offsets in glibc's pthread_mutex_t and bits of its kind (sysdeps/nptl/bits/struct_mutex.h, nptl/pthreadP.h).
const (
	mutexOwner    = 8
	mutexKind     = 16
	mutexType     = 3
	mutexRobust   = 16
	mutexPI       = 32
	mutexPP       = 64
	mutexShared   = 128
	mutexElision  = 256 | 512
	mutexCeiling  = 0xfff80000 // in the kind and word of a mutex with a ceiling
	mutexAllFlags = mutexType | mutexRobust | mutexPI | mutexPP | mutexShared | mutexElision
)

var mutexTypes = [...]string{"normal", "recursive", "error-checking", "adaptive"}

func isMutexKind(kind uint32) bool {
	if kind&mutexPP != 0 {
		kind &^= mutexCeiling
	}
	return kind&^mutexAllFlags == 0
}

const memoryUnread = "its memory could not be read"

func (w *Wait) glibcMutex(mem *FutexCopy) {
	addr := uint64(w.Address)
	word, ok1 := mem.u32(addr)
	owner, ok2 := mem.u32(addr + mutexOwner)
	kind, ok3 := mem.u32(addr + mutexKind)
	if !ok1 || !ok2 || !ok3 {
		w.Why = memoryUnread
		return
	}
	if !isMutexKind(kind) {
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
		w.Why, w.Free = whyFreeOrChanging, true
	case kind&(mutexRobust|mutexPI) != 0:
		w.setOwnerWord(word)
	default:
		w.ownerInnerTID = int(owner)
		if owner == 0 {
			w.Why = whyFreeOrChanging
		}
	}
}

// ownerPI sets the owner of a priority-inheritance lock, whose word the kernel defines.
func (w *Wait) ownerPI(mem *FutexCopy) {
	word, ok := mem.u32(uint64(w.Address))
	if !ok {
		w.Why = memoryUnread
		return
	}
	w.Type = "PI"
	if kind, ok := mem.u32(uint64(w.Address) + mutexKind); ok && isMutexKind(kind) && kind&mutexPI != 0 {
		w.Type = mutexTypes[kind&mutexType] + " PI"
	}
	w.setOwnerWord(word)
}

// pthread_rwlock_t of glibc (sysdeps/nptl/bits/struct_rwlock.h, nptl/pthread_rwlock_common.c).
const (
	rwPhaseWord   = 8
	rwWritersWord = 12
	rwWriter      = 24
	rwWritePhase  = 1
	rwWriteLocked = 2
	rwReaderShift = 3
)

// glibcRWLock sets the owner. Alignment distinguishes the lock's two futex words. w.Address becomes the lock's.
func (w *Wait) glibcRWLock(mem *FutexCopy) {
	base := uint64(w.Address) - rwPhaseWord
	if w.Address%8 != 0 {
		base = uint64(w.Address) - rwWritersWord
	}
	readers, ok1 := mem.u32(base)
	writer, ok2 := mem.u32(base + rwWriter)
	if !ok1 || !ok2 {
		w.Why = memoryUnread
		return
	}
	w.Address = schema.Hex(base)
	switch {
	case readers&rwWritePhase == 0 && readers>>rwReaderShift > 0:
		w.Readers = int(readers >> rwReaderShift)
	case readers&rwWritePhase != 0 && readers&rwWriteLocked != 0 && writer != 0:
		w.ownerInnerTID = int(writer)
	default:
		w.Why = whyFreeOrChanging
	}
}

// Bits of a musl mutex's kind (pthread_mutexattr_setrobust.c, …setprotocol.c, …setpshared.c).
const (
	muslRobust  = 4
	muslInherit = 8
	muslShared  = 128
)

// muslMutex sets the owner (src/internal/pthread_impl.h, pthread_mutex_timedlock.c). w.Address is the second word, and
// becomes the mutex's.
func (w *Wait) muslMutex(mem *FutexCopy) {
	addr := uint64(w.Address)
	word, ok1 := mem.u32(addr)
	kind, ok2 := mem.u32(addr - 4)
	switch {
	case !ok1 || !ok2:
		w.Why = memoryUnread
		return
	case kind&^(mutexType|muslRobust|muslInherit|muslShared) != 0:
		w.Why = "its memory is not a valid mutex of musl"
		return
	}
	w.Address -= 4
	w.shared = kind&muslShared != 0
	w.Type = mutexTypes[kind&mutexType]
	if kind&muslRobust != 0 {
		w.Type += " robust"
	}
	if kind&(mutexType|muslRobust|muslInherit) == 0 {
		w.Why = "musl stores no owner of a normal mutex"
		return
	}
	w.setOwnerWord(word)
}

// A joinable thread's state, and the distance from its ID to that (src/internal/pthread_impl.h, struct pthread).
const (
	muslJoinable  = 2
	muslTIDBefore = 8
)

func (w *Wait) muslJoin(value uint32, mem *FutexCopy) {
	addr := uint64(w.Address)
	state, ok1 := mem.u32(addr)
	tid, ok2 := mem.u32(addr - muslTIDBefore)
	if ok1 && ok2 && state == muslJoinable && value == muslJoinable {
		w.ownerInnerTID = int(tid & futexTIDMask)
	}
}
