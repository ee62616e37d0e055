// SPDX-License-Identifier: Apache-2.0

package cpython

import (
	"prywalk/internal/languages"
	"prywalk/internal/managed"
	"prywalk/internal/waits"
)

// # Locks held by frames
//
// A threading.Lock does not store its owner. A frame inside of "with lock:" keeps the bound __exit__ on its value
// stack; the exception table (3.11 on) gives the depth below which all values are alive. A thread that waits for an
// RLock has it on the value stack of its innermost frame. The lock object (Modules/_threadmodule.c) has, from 3.11 to
// 3.13,
//
//	16  lock_lock: address of the semaphore of its waiters
//	24  RLock: owner, as of pthread_self; Lock: a list
//	32  RLock: count; Lock: locked, a byte

const (
	codeExceptions = 40
	frameValues    = 72
	methodSelf     = 24

	lockWord   = 16
	lockOwner  = 24
	lockCount  = 32
	lockLocked = 32
)

var lockTypes = map[string]string{"_thread.lock": languages.PythonLock, "_thread.RLock": languages.PythonRLock}

const (
	maxHolders = 128 // frames of a walk
	maxValues  = 64  // of a frame's stack
	maxRLocks  = 1 << 12
	maxTypes   = 1 << 12
)

type locks struct {
	*interpreter
	chain  *frameChain
	names  *threadNames
	types  map[uint64]string // by type; "": no lock
	rlocks map[uint64]uint64 // RLocks by semaphore
}

func (l *locks) forget() { l.types, l.rlocks = nil, nil }

func (l *locks) held() (out []managed.HeldLock) {
	c := l.chain
	if l.minor < 11 || l.minor > 13 || l.headExtra != 0 || c.broken || c.state == 0 || !c.IsLive() {
		return nil
	}
	for i := range c.frames[:min(len(c.frames), maxHolders)] {
		out = l.holds(&c.frames[i], i == 0, out)
	}
	if !c.Sample.Live.Unchanged() {
		return nil
	}
	return out
}

// holds appends the locks that a frame is inside of, and notes the innermost frame's RLocks.
func (l *locks) holds(f *pyFrame, innermost bool, out []managed.HeldLock) []managed.HeldLock {
	size := uint32(l.read64(f.code + uint64(l.codeFirstLine) - 4))
	locals := uint32(l.read64(f.code + uint64(l.codeFirstLine) + 4))
	if size > maxValues || locals > 1<<12 {
		return out
	}
	table, ok := l.chain.codes.readBytes(l.read64(f.code + codeExceptions))
	if !ok {
		return out
	}
	alive := liveDepth(table, f.offset/2)
	if !innermost {
		size = uint32(alive)
	}
	for i := range min(int(size), maxValues) {
		value := l.read64(f.at + frameValues + 8*(uint64(locals)+uint64(i)))
		lock, class := l.lockOf(value)
		if class == languages.PythonRLock {
			l.noteRLock(lock)
		}
		if class == "" || i >= alive || !l.isTaken(lock, class) {
			continue
		}
		h := managed.HeldLock{Word: l.read64(lock + lockWord), Class: class}
		if c, _ := l.chain.codes.resolve(f.code); c != nil {
			at := c.frame(l.minor, f.offset)
			h.Function, h.File, h.Line = at.Function, at.File, at.Line
		}
		out = append(out, h)
	}
	return out
}

func (l *locks) lockOf(value uint64) (lock uint64, class string) {
	if value < 1<<12 || value%8 != 0 {
		return 0, ""
	}
	if class = l.lockClass(value); class != "" {
		return value, class
	}
	self := l.read64(value + methodSelf)
	if self < 1<<12 || self%8 != 0 {
		return 0, ""
	}
	return self, l.lockClass(self)
}

func (l *locks) lockClass(object uint64) string {
	typ := l.read64(object + objectType)
	if class, known := l.types[typ]; known || typ < 1<<12 {
		return class
	}
	if l.types == nil {
		l.types = map[uint64]string{}
	}
	class := lockTypes[l.typeFullName(typ)]
	if len(l.types) < maxTypes {
		l.types[typ] = class
	}
	return class
}

func (l *locks) isTaken(lock uint64, class string) bool {
	if class == languages.PythonRLock {
		return l.read64(lock+lockCount) != 0
	}
	return l.read64(lock+lockLocked)&0xff != 0
}

func (l *locks) noteRLock(lock uint64) {
	if l.rlocks == nil || len(l.rlocks) > maxRLocks {
		l.rlocks = map[uint64]uint64{}
	}
	l.rlocks[l.read64(lock+lockWord)] = lock
}

func (l *locks) waiting(q *managed.WaitQuery) (w managed.WaitAnswer, ok bool) {
	lock := l.rlocks[q.Word]
	if lock == 0 || l.lockClass(lock) != languages.PythonRLock || l.read64(lock+lockWord) != q.Word {
		return w, false
	}
	w = managed.WaitAnswer{Kind: waits.Mutex, Class: languages.PythonRLock, Address: q.Word, Timed: q.Timed}
	owner, count := l.read64(lock+lockOwner), l.read64(lock+lockCount)
	if th := l.chain.threads.byPthread(owner); th != nil && count != 0 {
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
