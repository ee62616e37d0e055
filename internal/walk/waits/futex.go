// SPDX-License-Identifier: Apache-2.0

package waits

import (
	"encoding/binary"

	"prywalk/internal/base/schema"
)

// Operations and flags of futex(2) (include/uapi/linux/futex.h).
const (
	futexWait          = 0
	futexLockPI        = 6
	futexWaitBitset    = 9
	futexWaitRequeuePI = 11
	futexLockPI2       = 13
	futexPrivate       = 128
	futexClockRealtime = 256
	futexTIDMask       = 0x3fffffff
	futexOwnerDied     = 0x40000000
)

// Bytes of a [FutexCopy], and those before the word.
const (
	CopySize   = 64
	CopyBefore = 16
)

// FutexCopy is the memory around a futex word, copied while the thread slept:
//
//	Addr                    futex word              Addr+CopySize
//	|      CopyBefore       |                       |
//	            [musl mutex: kind −4 … word 0]
//	                        [glibc mutex: word 0, owner 8, kind 16]
//	         [glibc rwlock: readers −8 or −12 … writer 16 or 12]
//
// It is shorter at the end of a mapping, and begins later at its start.
type FutexCopy struct {
	Addr  uint64 // of Bytes[0]
	Bytes []byte
}

func (c *FutexCopy) u32(addr uint64) (uint32, bool) {
	off := addr - c.Addr
	if n := uint64(len(c.Bytes)); n < 4 || off > n-4 {
		return 0, false
	}
	return binary.LittleEndian.Uint32(c.Bytes[off:]), true
}

// FutexWord returns the word at which futex(2) sleeps, or false if the operation does not sleep.
func FutexWord(args *[6]uint64) (addr uint64, ok bool) {
	switch args[1] &^ (futexPrivate | futexClockRealtime) {
	case futexWait, futexWaitBitset, futexLockPI, futexLockPI2, futexWaitRequeuePI:
		return args[0], true
	}
	return 0, false
}

// RuntimeWaitCall returns the futex word (or 0) and whether there is a time-out, of a call in which runtimes' threads
// wait for each other: futex(2), and ppoll(2) of Ruby up to 3.2.
func RuntimeWaitCall(name string, args *[6]uint64) (word uint64, timed, ok bool) {
	switch name {
	case "futex":
		word, ok = FutexWord(args)
		return word, futexTimed(args), ok
	case "ppoll":
		return 0, args[2] != 0, true
	}
	return 0, false, false
}

func futexTimed(args *[6]uint64) bool { return args[3] != 0 }

func futex(args *[6]uint64, stack []StackFunction, mem *FutexCopy) Wait {
	addr, ok := FutexWord(args)
	if !ok {
		return Wait{Kind: Other}
	}
	op := args[1] &^ (futexPrivate | futexClockRealtime)
	w := Wait{Kind: Futex, Address: schema.Hex(addr), Timed: futexTimed(args)}
	w.shared = args[1]&futexPrivate == 0
	p, _ := identify(stack)
	if op == futexLockPI || op == futexLockPI2 {
		w.Kind = Mutex
		w.ownerPI(mem)
		return w
	}
	if p.kind == Condition && !p.musl && op == futexWait && uint32(args[2]) == 2 {
		p.kind = Mutex // woken, and retakes its mutex; musl's conditions wait on 2
	}
	if p.kind == NoWait {
		w.Why = "unknown kind of lock"
		// glibc's pthread_join waits so, on the thread's ID; its name may be missing. Process-shared conditions and rwlocks
		// do, too, on small numbers. The joins of musl and of older glibc are not told from other waits.
		if op == futexWaitBitset && w.shared {
			w.ownerInnerTID = int(uint32(args[2]))
		}
		return w
	}
	w.Kind, w.Mode = p.kind, p.mode
	w.setOwner(p, uint32(args[2]), mem)
	switch p.kind {
	case Semaphore:
		w.Type = cpythonLock(stack)
	case Condition:
		if !p.unknownLayout {
			w.Address &^= groupWord
		}
		w.setHotSpot(stack)
	}
	return w
}

// groupWord is the distance of a glibc condition's two futex words (sysdeps/nptl/bits/thread-shared-types.h,
// __g_signals). A signal moves waiters from one to the other, so all are listed at the first, which is aligned to 8.
const groupWord = 4

func (w *Wait) setOwner(p primitive, value uint32, mem *FutexCopy) {
	switch {
	case p.kind == Join && !p.unknownLayout:
		w.ownerInnerTID = int(value & futexTIDMask)
	case p.kind == Join && p.musl:
		w.muslJoin(value, mem)
	case p.kind == Mutex && p.musl:
		w.muslMutex(mem)
	case p.kind == RWLock && p.musl:
		w.Why = "musl stores no owner of it"
	case p.kind == Mutex && !p.unknownLayout:
		w.glibcMutex(mem)
	case p.kind == RWLock && !p.unknownLayout:
		w.glibcRWLock(mem)
	default:
		w.Why, w.ofWaiter = p.why(), wordPerWaiter[p.maker]
	}
}

// WordWithOwner returns the futex word if the memory around it can hold an owner: semaphores and most conditions wait
// on 0, locks do not.
func WordWithOwner(args *[6]uint64) (addr uint64, ok bool) {
	if addr, ok = FutexWord(args); !ok {
		return 0, false
	}
	switch args[1] &^ (futexPrivate | futexClockRealtime) {
	case futexWait, futexWaitBitset:
		return addr, uint32(args[2]) != 0
	}
	return addr, true
}
