// SPDX-License-Identifier: Apache-2.0

package ruby

import (
	"bytes"
	"encoding/binary"

	"prywalk/internal/base/cache"
	"prywalk/internal/walk/managed"
	"prywalk/internal/walk/waits"
)

// # Mutexes, joins, queues, sleeps
//
// rb_thread_t has these words in this order (vm_core.h), at an offset that differs between releases and C libraries:
//
//	 0  unblock.func: what ends its sleep, in the interpreter's code; 0 outside of blocking regions
//	 8  unblock.arg
//	16  locking_mutex: the Mutex that it waits for, also for a Monitor
//	24  keeping_mutexes
//	32  join_list, from 3.4 on at 48: nodes {next, thread} on the stacks of the threads that wait for its end
//
// They are found by the first. rb_mutex_t (thread_sync.c) begins with its holder, 0 if it is free: the thread (2.7),
// the fiber (3.0 on), or the number of the fiber's ec, followed by the thread (after 3.4). In a fiber's ec fiber_ptr
// and thread_ptr are neighbours.
//
// Other waits are known by the innermost frame's receiver: rb_data_type_struct of its class begins with its name.

const (
	unblockLocking = 16

	frameSelf = 24

	dataType, dataTypeFrom4 = 16, 24
	dataStart               = 32
	dataSize                = 40
)

const (
	typeData     = 0x0c
	dataEmbedded = 2 // flag at dataTypeFrom4
	dataFlags    = 7
)

func (l *layout) joiners() uint64 {
	if l.release >= 304 {
		return 48
	}
	return 32
}

// threadHead and threadTail bound the offset of unblock.func, bytes: 232 to 328 in tested releases.
const (
	threadHead = 96
	threadTail = 512
)

const (
	maxJoiners = 64
	maxTypes   = 1 << 12
	maxMethods = 1 << 12
)

// Names of types in C.
const (
	ofMutex     = "mutex"
	ofMonitor   = "monitor"
	ofThread    = "VM/thread"
	ofCondition = "condvar"
)

var receivers = map[string]string{
	"queue": "Thread::Queue", "Thread::Queue": "Thread::Queue",
	"sized_queue": "Thread::SizedQueue", "Thread::SizedQueue": "Thread::SizedQueue",
	ofCondition: "Thread::ConditionVariable",
}

type blockedWait struct {
	reader  *copyReader
	runtime *Runtime
	thread  uint64
	unblock uint64 // offset of unblock.func
	locking uint64
}

type names struct {
	types    map[uint64]string // by address
	methods  map[uint64]string // by ID
	timeouts map[uint64]timeoutBlock
}

func (b *blockedWait) find() (w managed.WaitAnswer, ok bool) {
	if !b.findUnblock() {
		return w, false
	}
	if b.locking != 0 {
		w, ok = b.mutex()
	} else {
		w, ok = b.byFrame()
		w.Timed = b.reader.query.Timed
	}
	w.Timed = w.Timed || w.Owner != 0 && b.inTimeout()
	return w, ok
}

func (b *blockedWait) findUnblock() bool {
	var words [threadTail - threadHead]byte
	b.reader.later = true
	n := b.reader.vm.host.Read(b.thread+threadHead, words[:])
	for i := 0; i+unblockLocking+8 <= n; i += 8 {
		if b.runtime.tagged.code.Has(binary.LittleEndian.Uint64(words[i:])) {
			b.unblock = threadHead + uint64(i)
			b.locking = binary.LittleEndian.Uint64(words[i+unblockLocking:])
			return true
		}
	}
	return false
}

// mutex ignores that the thread wakes to look for deadlocks (thread_sync.c, patrol_thread). The owner held it while it
// was read.
func (b *blockedWait) mutex() (w managed.WaitAnswer, ok bool) {
	typ, mutex := b.object(b.locking)
	if typ != ofMutex {
		return w, false
	}
	w = managed.WaitAnswer{Kind: waits.Mutex, Class: "Thread::Mutex", Address: mutex}
	if typ, _ := b.object(b.receiver(0)); typ == ofMonitor {
		w.Class = "Monitor"
	}
	holder, ok := b.reader.vm.pair(mutex)
	owner := b.holderOf(holder)
	again, ok2 := b.reader.vm.pair(mutex)
	switch {
	case !ok || !ok2:
		return w, false
	case again != holder || holder[0] == 0: // being passed on
		w.Later = true
	case owner.at != b.thread:
		w.Owner = owner.tid
	}
	return w, true
}

func (b *blockedWait) holderOf(holder [2]uint64) (owner thread) {
	m := b.reader.vm
	if !m.heap.hasRactors() {
		owner, _ = m.threadAt(holder[0])
		return owner
	}
	ec := b.reader.word(b.thread + uint64(m.heap.threadEC))
	inFiber := ec - b.reader.word(ec+uint64(m.heap.ecThread)-8)
	if fiber, ok := m.pair(holder[0] + inFiber + uint64(m.heap.ecThread) - 8); ok && fiber[0] == holder[0] {
		owner, _ = m.threadAt(fiber[1])
		return owner
	}
	owner, _ = m.threadAt(holder[1])
	return owner
}

func (b *blockedWait) byFrame() (w managed.WaitAnswer, ok bool) {
	typ, object := b.object(b.receiver(0))
	method := b.method()
	if typ == ofMutex { // ConditionVariable#wait calls Mutex#sleep
		typ, object = b.object(b.receiver(1))
		if typ != ofCondition {
			return managed.WaitAnswer{Kind: waits.Sleep}, true
		}
		method = ""
	}
	switch class := receivers[typ]; {
	case method == "sleep": // of Kernel, also where self is a queue or a thread
		return managed.WaitAnswer{Kind: waits.Sleep}, true
	case method == "select":
		return w, false
	case typ == ofThread:
		return b.join(object)
	case class != "":
		return managed.WaitAnswer{Kind: waits.ObjectWait, Class: class, Address: object}, true
	}
	return w, false
}

// join requires the waiter in the thread's join_list.
func (b *blockedWait) join(target uint64) (w managed.WaitAnswer, ok bool) {
	m := b.reader.vm
	node := m.heap.word(target + b.unblock + m.heap.joiners())
	for range maxJoiners {
		words, ok := m.pair(node)
		if !ok {
			return w, false
		}
		if words[1] == b.thread {
			th, ok := m.threadAt(target)
			return managed.WaitAnswer{Kind: waits.Join, Address: target, Owner: th.tid}, ok && th.tid != 0
		}
		node = words[0]
	}
	return w, false
}

func (b *blockedWait) frame(n uint64) uint64 {
	ec := b.reader.word(b.thread + uint64(b.reader.vm.heap.threadEC))
	return b.reader.word(ec+ecFrame) + n*uint64(b.reader.vm.heap.frameSize)
}

func (b *blockedWait) receiver(n uint64) uint64 { return b.reader.word(b.frame(n) + frameSelf) }

func (b *blockedWait) method() string {
	ep := b.reader.word(b.frame(0) + frameEP)
	if b.reader.word(ep)&magicMask != magicCFunc || b.runtime.known.symbols == 0 {
		return ""
	}
	id := b.reader.word(b.reader.word(b.reader.word(ep-16)+methodDef) + defID)
	name, known := b.runtime.names.methods[id]
	if !known {
		name, _ = b.reader.vm.heap.nameOf(b.runtime.known.symbols, id)
		cache.Put(&b.runtime.names.methods, maxMethods, id, name)
	}
	return name
}

func (b *blockedWait) object(value uint64) (name string, data uint64) {
	var w [dataSize]byte
	word := func(at int) uint64 { return binary.LittleEndian.Uint64(w[at:]) }
	if !isPointer(value) || b.reader.vm.host.Read(value, w[:]) != len(w) || word(0)&typeMask != typeData {
		return "", 0
	}
	if name = b.typeName(word(dataType)); name == "" {
		name = b.typeName(word(dataTypeFrom4) &^ dataFlags)
	}
	if data = word(dataStart); word(dataTypeFrom4)&dataEmbedded != 0 {
		data = value + dataStart
	}
	return name, data
}

func isKnownType(name string) bool {
	return name == ofMutex || name == ofMonitor || name == ofThread || receivers[name] != ""
}

func (b *blockedWait) typeName(typ uint64) string {
	if name, known := b.runtime.names.types[typ]; known || !isPointer(typ) {
		return name
	}
	var text [32]byte
	n := b.reader.vm.host.Read(b.reader.vm.heap.word(typ), text[:])
	word, _, _ := bytes.Cut(text[:n], []byte{0})
	name := string(word)
	if !isKnownType(name) {
		name = ""
	}
	cache.Put(&b.runtime.names.types, maxTypes, typ, name)
	return name
}
