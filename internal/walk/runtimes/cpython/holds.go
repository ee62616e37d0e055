// SPDX-License-Identifier: Apache-2.0

package cpython

import (
	"prywalk/internal/base/cache"
	"prywalk/internal/base/languages"
	"prywalk/internal/walk/managed"
	"prywalk/internal/walk/waits"
)

// # Locks held by frames
//
// A threading.Lock does not store its owner. A frame inside of "with lock:" keeps the bound __exit__, from 3.14 on the
// lock, on its value stack; the exception table (3.11 on) gives the depth below which all values are alive. The lock
// object (Modules/_threadmodule.c) has two forms.
//
// With a semaphore: the RLock until 3.13, the Lock until 3.13.0. A thread that waits for an RLock has it on the value
// stack of its innermost frame.
//
//	16  lock_lock: address of the semaphore of its waiters
//	24  RLock: owner, as of pthread_self; Lock: a list
//	32  RLock: count; Lock: locked, a byte
//
// With a PyMutex (Include/cpython/lock.h), at which its waiters are parked ([interpreter.parkedAt]):
//
//	16  PyMutex, a byte; bit 0: locked
//	24  RLock: owner, as of pthread_self

const (
	codeExceptions = 40
	methodSelf     = 24

	lockWord   = 16
	lockOwner  = 24
	lockCount  = 32
	lockLocked = 32

	pyMutexLocked = 1
)

// lockType is a type of locks, zero for other types.
type lockType struct {
	class     string
	isPyMutex bool
}

var lockClasses = map[string]string{"_thread.lock": languages.PythonLock, "_thread.RLock": languages.PythonRLock}

// pyMutexSizes are tp_basicsize of the types with a PyMutex. With a semaphore a Lock has 40 bytes, an RLock 48.
var pyMutexSizes = map[string]uint64{languages.PythonLock: 24, languages.PythonRLock: 40}

const (
	maxHolders = 128 // frames of a walk
	maxValues  = 64  // of a frame's stack
	maxRLocks  = 1 << 12
	maxTypes   = 1 << 12
)

type locks struct {
	python *interpreter
	chain  *frameChain
	names  *threadNames
	types  map[uint64]lockType
	rlocks map[uint64]uint64 // RLocks by semaphore
}

func (l *locks) forget() { l.types, l.rlocks = nil, nil }

func (l *locks) held() (out []managed.HeldLock) {
	c := l.chain
	if l.python.minor < 11 || c.broken || c.state == 0 || !c.view.IsLive() {
		return nil
	}
	for i := range c.frames[:min(len(c.frames), maxHolders)] {
		out = l.holds(&c.frames[i], i == 0, out)
	}
	if !c.view.Sample.Live.Unchanged() {
		return nil
	}
	return out
}

// holds appends the locks that a frame is inside of, and adds the innermost frame's RLocks.
func (l *locks) holds(f *pyFrame, innermost bool, out []managed.HeldLock) []managed.HeldLock {
	size, values := l.valuesOf(f)
	if values == 0 {
		return out
	}
	table, ok := l.chain.codes.readBytes(l.python.read64(f.code + codeExceptions + l.python.headExtra))
	if !ok {
		return out
	}
	alive := liveDepth(table, f.offset/2)
	if !innermost {
		size = uint32(alive)
	}
	for i := range min(int(size), maxValues) {
		lock, typ := l.lockOf(l.python.read64(values+8*uint64(i)) & l.python.frameMask)
		l.addRLock(lock, typ)
		if typ.class == "" || i >= alive || !l.isTaken(lock, typ) {
			continue
		}
		h := managed.HeldLock{Word: l.waitersWord(lock, typ), Class: typ.class}
		if c, _ := l.chain.codes.resolve(f.code); c != nil {
			at := c.frame(l.python.minor, f.offset)
			h.Function, h.File, h.Line = at.Function, at.File, at.Line
		}
		out = append(out, h)
	}
	return out
}

// valuesOf returns the most values of a frame's stack and their address, which is 0 if they are not plausible.
func (l *locks) valuesOf(f *pyFrame) (size uint32, at uint64) {
	size = uint32(l.python.read64(f.code + uint64(l.python.codeFirstLine) - 4))
	locals := uint32(l.python.read64(f.code + uint64(l.python.codeFirstLine) + 4))
	if size > maxValues || locals > 1<<12 {
		return 0, 0
	}
	return size, f.at + uint64(l.python.frameLocals) + 8*uint64(locals)
}

// addAwaited adds the RLocks of the last walk's innermost frame, if that is the asking thread's.
func (l *locks) addAwaited(q *managed.WaitQuery) (found bool) {
	c := l.chain
	if l.python.minor < 11 || l.python.minor > 13 || c.broken || c.state == 0 || len(c.frames) == 0 ||
		c.view.Sample.InnerTID != q.InnerTID {
		return false
	}
	size, values := l.valuesOf(&c.frames[0])
	for i := range uint64(size) {
		lock, typ := l.lockOf(l.python.read64(values+8*i) & l.python.frameMask)
		found = l.addRLock(lock, typ) || found
	}
	return found
}

func (l *locks) lockOf(value uint64) (lock uint64, typ lockType) {
	if value < 1<<12 || value%8 != 0 {
		return 0, typ
	}
	if typ = l.lockType(value); typ.class != "" {
		return value, typ
	}
	self := l.python.read64(value + methodSelf + l.python.headExtra)
	if self < 1<<12 || self%8 != 0 {
		return 0, typ
	}
	return self, l.lockType(self)
}

func (l *locks) lockType(object uint64) lockType {
	at := l.python.read64(object + objectType + l.python.headExtra)
	if typ, known := l.types[at]; known || at < 1<<12 {
		return typ
	}
	typ := lockType{class: lockClasses[l.python.typeFullName(at)]}
	typ.isPyMutex = typ.class != "" && l.python.read64(at+typeSize+l.python.headExtra) == pyMutexSizes[typ.class]+
		l.python.headExtra
	cache.Put(&l.types, maxTypes, at, typ)
	return typ
}

// waitersWord returns [managed.HeldLock.Word].
func (l *locks) waitersWord(lock uint64, typ lockType) uint64 {
	if typ.isPyMutex {
		return lock + lockWord + l.python.headExtra
	}
	return l.python.read64(lock + lockWord + l.python.headExtra)
}

func (l *locks) isTaken(lock uint64, typ lockType) bool {
	lock += l.python.headExtra
	switch {
	case typ.isPyMutex:
		return l.python.read64(lock+lockWord)&pyMutexLocked != 0
	case typ.class == languages.PythonRLock:
		return l.python.read64(lock+lockCount) != 0
	}
	return l.python.read64(lock+lockLocked)&0xff != 0
}

// addRLock adds an RLock, found by its semaphore, and returns false if lock is none or has none.
func (l *locks) addRLock(lock uint64, typ lockType) bool {
	if typ.class != languages.PythonRLock || typ.isPyMutex {
		return false
	}
	cache.Put(&l.rlocks, maxRLocks, l.python.read64(lock+lockWord+l.python.headExtra), lock)
	return true
}

func (l *locks) waiting(q *managed.WaitQuery) (w managed.WaitAnswer, ok bool) {
	lock, word := l.rlocks[q.Word], q.Word
	if lock == 0 {
		if word = l.python.parkedAt(q); word == 0 {
			return w, false
		}
		lock = word - lockWord - l.python.headExtra
	}
	typ := l.lockType(lock)
	if typ.class == "" || l.waitersWord(lock, typ) != word {
		return w, false
	}
	w = managed.WaitAnswer{Kind: waits.Semaphore, Class: typ.class, Address: word, Timed: q.Timed}
	if typ.class != languages.PythonRLock {
		return w, true
	}
	w.Kind = waits.Mutex
	owner, taken := l.python.read64(lock+lockOwner+l.python.headExtra), l.isTaken(lock, typ)
	if th := l.chain.threads.byPthread(owner); th != nil && taken && q.Live != nil && q.Live.Unchanged() {
		l.names.setOwner(&w, th)
	}
	return w, true
}

// liveDepth returns how many stack values are certainly alive at an instruction (Objects/exception_handling_notes.txt).
// Entries are start, length, target, depth<<1|flag, 6 bits a byte; bit 7 marks an entry's first byte, bit 6 all but a
// number's last.
func liveDepth(table []byte, instruction int) int {
	for len(table) > 0 {
		var entry [4]int
		for i := range entry {
			var ok bool
			if entry[i], table, ok = varint(table); !ok {
				return 0
			}
		}
		if instruction >= entry[0] && instruction < entry[0]+entry[1] {
			return min(entry[3]>>1, maxValues)
		}
	}
	return 0
}

func varint(b []byte) (n int, rest []byte, ok bool) {
	for i, c := range b {
		if n = n<<6 | int(c&63); n > 1<<30 {
			return 0, nil, false
		}
		if c&64 == 0 {
			return n, b[i+1:], true
		}
	}
	return 0, nil, false
}
