// SPDX-License-Identifier: Apache-2.0

package cpython

import (
	"bytes"
	"encoding/binary"

	"prywalk/internal/managed"
)

// # Locks that frames are inside of
//
// A threading.Lock does not store which thread has it. But a frame that is inside of "with lock:" keeps the lock's
// __exit__ on its value stack, bound to the lock, for when the block ends. How many values of the stack are alive
// follows from the code object's table of exceptions (3.11 on): the entry of the current instruction has the depth to
// which an exception would take the stack down. All values below are alive.
//
// The lock object (Modules/_threadmodule.c) has, from 3.11 to 3.13,
//
//	16  lock_lock: the address of the semaphore that its waiters sleep at
//	24  of an RLock: the owner, as pthread_self says; of a Lock: a list
//	32  of an RLock: how often it has it; of a Lock: locked, a byte
//
// An RLock so stores its owner. A thread that waits for one has it on the value stack of its innermost frame.

// Offsets, in bytes. A method that is bound, of C or of Python, has its object at methodSelf.
const (
	codeExceptions = 40 // co_exceptiontable
	frameValues    = 72 // localsplus
	methodSelf     = 24
	typeNameAt     = 24

	lockWord   = 16
	lockOwner  = 24
	lockCount  = 32
	lockLocked = 32
)

// Names of the types of locks, and how programs call them.
var lockTypes = map[string]string{"_thread.lock": "threading.Lock", "_thread.RLock": "threading.RLock"}

const (
	plainLock = "threading.Lock"
	rLock     = "threading.RLock"
)

// Bounds of what is read.
const (
	mostHolders = 128 // frames of a walk
	mostValues  = 64  // of a frame's stack
	mostRLocks  = 1 << 12
)

// locks is what is known of locks.
type locks struct {
	types  map[uint64]string // by the address of the type; "": no lock
	rlocks map[uint64]uint64 // RLocks by the address of the semaphore
}

// Holds implements [managed.Holder].
func (r *Runtime) Holds() (out []managed.Held) {
	w := &r.walk
	if r.minor < 11 || r.minor > 13 || r.wider != 0 || w.broken || w.state == 0 || !w.isLive() {
		return nil
	}
	for i := range w.chain[:min(len(w.chain), mostHolders)] {
		out = r.holds(&w.chain[i], i == 0, out)
	}
	if !w.sample.Live.Unchanged() { // it may have left them meanwhile
		return nil
	}
	return out
}

// holds appends the locks whose blocks a frame is inside of. Of the innermost frame RLocks are noted which it may be
// about to take.
func (r *Runtime) holds(f *pyFrame, innermost bool, out []managed.Held) []managed.Held {
	size := r.read32(f.code + uint64(r.codeFirst) - 4)
	locals := r.read32(f.code + uint64(r.codeFirst) + 4)
	if size > mostValues || locals > 1<<12 {
		return out
	}
	table, ok := r.readBytes(r.read64(f.code + codeExceptions))
	if !ok {
		return out
	}
	alive := liveDepth(table, f.offset/2)
	if !innermost {
		size = uint32(alive)
	}
	for i := range min(int(size), mostValues) {
		value := r.read64(f.at + frameValues + 8*(uint64(locals)+uint64(i)))
		lock, class := r.lockOf(value)
		if class == rLock {
			r.noteRLock(lock)
		}
		if class == "" || i >= alive || !r.isTaken(lock, class) {
			continue
		}
		h := managed.Held{Word: r.read64(lock + lockWord), Class: class}
		if c, _ := r.resolve(f.code); c != nil {
			h.Function, h.File = c.name, c.file
			h.Line = lineOf(r.minor, c.table, c.id.first, f.offset)
		}
		out = append(out, h)
	}
	return out
}

// lockOf gives the lock that a value is, or is a bound method of.
func (r *Runtime) lockOf(value uint64) (lock uint64, class string) {
	if value < 1<<12 || value%8 != 0 {
		return 0, ""
	}
	if class = r.lockClass(value); class != "" {
		return value, class
	}
	self := r.read64(value + methodSelf)
	if self < 1<<12 || self%8 != 0 {
		return 0, ""
	}
	return self, r.lockClass(self)
}

// lockClass is the class of an object that is a lock, "" of others.
func (r *Runtime) lockClass(object uint64) string {
	typ := r.read64(object + objectType)
	if class, known := r.locks.types[typ]; known || typ < 1<<12 {
		return class
	}
	if r.locks.types == nil {
		r.locks.types = map[uint64]string{}
	}
	var b [16]byte
	n := r.host.Read(r.read64(typ+typeNameAt), b[:])
	name, _, _ := bytes.Cut(b[:n], []byte{0})
	class := lockTypes[string(name)]
	if len(r.locks.types) < mostRLocks {
		r.locks.types[typ] = class
	}
	return class
}

// isTaken reports whether a thread has a lock.
func (r *Runtime) isTaken(lock uint64, class string) bool {
	if class == rLock {
		return r.read64(lock+lockCount) != 0
	}
	return r.read64(lock+lockLocked)&0xff != 0
}

// noteRLock takes note of an RLock.
func (r *Runtime) noteRLock(lock uint64) {
	if r.locks.rlocks == nil || len(r.locks.rlocks) > mostRLocks {
		r.locks.rlocks = map[uint64]uint64{}
	}
	r.locks.rlocks[r.read64(lock+lockWord)] = lock
}

// waitingForRLock tells of a thread that waits for an RLock which was seen in a walk, and that is still there.
func (r *Runtime) waitingForRLock(s *managed.Sleeper) (w managed.Wait, ok bool) {
	lock := r.locks.rlocks[s.Word]
	if lock == 0 || r.lockClass(lock) != rLock || r.read64(lock+lockWord) != s.Word {
		return w, false
	}
	w = managed.Wait{Kind: managed.WaitLock, Class: rLock, Address: s.Word}
	owner, count := r.read64(lock+lockOwner), r.read64(lock+lockCount)
	for i := range r.threads.list {
		if th := &r.threads.list[i]; th.id == owner && owner != 0 && count != 0 && th.native != 0 {
			w.Owner = int(th.native)
			w.OwnerName, _ = r.ThreadName(w.Owner)
		}
	}
	return w, true
}

// read32 reads a number of 32 bits as it is now, 0 if it cannot.
func (r *Runtime) read32(addr uint64) uint32 {
	var b [4]byte
	if r.host.Read(addr, b[:]) != len(b) {
		return 0
	}
	return binary.LittleEndian.Uint32(b[:])
}

// liveDepth gives how many values of a frame's stack are alive for sure at an instruction, by the table of exceptions
// (Objects/exception_handling_notes.txt): entries of start, length, target, and depth with a flag below it, as numbers
// of 6 bits a byte. The first byte of an entry has bit 7, all but the last of a number bit 6.
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
			return min(entry[3]>>1, mostValues)
		}
	}
	return 0
}

// varint takes a number off a table of exceptions.
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
