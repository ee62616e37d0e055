// SPDX-License-Identifier: Apache-2.0

package waits

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
