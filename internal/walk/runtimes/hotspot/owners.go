// SPDX-License-Identifier: Apache-2.0

package hotspot

import "prywalk/internal/walk/waits"

// Values of a monitor's owner word for a thread.
type ownerID struct {
	id threadID
	// The addresses of its stack; since JDK 24 its number only.
	from, to uint64
}

// ownerAnonymous is the owner of a monitor inflated for a stack lock, until that is unlocked
// (runtime/objectMonitor.hpp).
const ownerAnonymous = 1

const ownerDeflater = 2 // while a monitor is deflated (the same file, DEFLATER_MARKER)

const maxLockStack = 8 // entries (runtime/lockStack.hpp, CAPACITY)

const classOwnable = "java/util/concurrent/locks/AbstractOwnableSynchronizer"

// ownerOf returns the owner of what w waits for, or 0. later means that not all threads were read yet.
func (t *waiters) ownerOf(w *waitState) (tid int, later bool) {
	switch {
	case w.answer.Kind == waits.Monitor && t.threads.layout.owner != nil:
		m := t.threads.vm.memory()
		ownerWord := m.word(w.monitor + t.threads.layout.offset("ObjectMonitor::_owner"))
		switch {
		case m.err != nil || ownerWord == 0:
			return 0, false
		case ownerWord == ownerAnonymous:
			return t.ownerByLockStack(w)
		}
		if tid, later = t.ownerByWord(ownerWord); tid == 0 && !later && len(t.threads.layout.owner) == 1 &&
			ownerWord != ownerDeflater {
			w.answer.OwnerTask = ownerWord // the number of a virtual thread without a carrier
		}
		return tid, later
	case w.answer.Kind == waits.Park && w.object != 0:
		tid, w.answer.OwnerTask = t.exclusiveOwner(w.object)
		return tid, false
	}
	return 0, false
}

// ownerByWord finds the thread whose ownerID has ownerWord. It reads threads at most every listEvery.
func (t *waiters) ownerByWord(ownerWord uint64) (tid int, later bool) {
	isOwner := func(known int) bool {
		o, ok := t.readOwner(t.threads.byTID[known].thread)
		tid = o.id.tid
		return ok && ownerWord >= o.from && ownerWord < o.to
	}
	if t.index.find(ownerWord, isOwner) {
		return tid, false
	}
	if len(t.threads.layout.owner) == 2 {
		if o, ok := t.readOwner(ownerWord); ok {
			return o.id.tid, false
		}
	}
	read, later := t.readThreads(listEvery)
	if read && t.index.find(ownerWord, isOwner) {
		return tid, false
	}
	return 0, later
}

func (t *waiters) readOwner(thread uint64) (o ownerID, ok bool) {
	if o.id, ok = t.threads.identify(thread); !ok || t.threads.byTID[o.id.tid].thread != thread {
		return o, false
	}
	m := t.threads.vm.memory()
	if len(t.threads.layout.owner) == 1 {
		o.from = m.word(thread + t.threads.layout.offset(t.threads.layout.owner[0]))
		o.to = o.from + 1
		return o, m.err == nil && o.from > ownerAnonymous
	}
	o.to = m.word(thread + t.threads.layout.offset(t.threads.layout.owner[0]))
	o.from = o.to - m.word(thread+t.threads.layout.offset(t.threads.layout.owner[1]))
	return o, m.err == nil && o.from < o.to
}

// ownerByLockStack finds the thread whose lock stack has w's object (then it sets w.anonymous), or an object whose mark
// leads to the monitor.
func (t *waiters) ownerByLockStack(w *waitState) (tid int, later bool) {
	if !t.threads.layout.has(wantLockStack) {
		return 0, false
	}
	holds := func(known int) bool {
		id, listed := t.threads.byTID[known]
		if !listed {
			return false
		}
		holds, byMark := t.hasOnLockStack(id.thread, w.monitor, w.object)
		if now, ok := t.threads.identify(id.thread); !holds || !ok || now.tid != known {
			return false
		}
		tid, w.anonymous, t.lastHolder = known, !byMark, known
		return true
	}
	found := func() bool { return t.index.find(w.monitor, holds) || t.index.find(w.object, holds) }
	if found() || holds(t.lastHolder) {
		return tid, false
	}
	read, later := t.readThreads(0)
	if read && found() {
		return tid, false
	}
	return 0, later
}

// hasOnLockStack reports whether a thread's lock stack has the object, or (byMark) one whose mark leads to the monitor.
func (t *waiters) hasOnLockStack(thread, monitor, object uint64) (holds, byMark bool) {
	t.eachLocked(thread, func(entry, mark uint64) bool {
		byMark = mark == monitor|markMonitorValue
		holds = byMark || entry == object
		return !holds
	})
	return holds, byMark
}

// eachLocked yields the objects on a lock stack, with their marks. One that ZGC may have moved since the thread ran is
// yielded at both addresses.
func (t *waiters) eachLocked(thread uint64, f func(object, mark uint64) bool) {
	stack, bottom := t.threads.layout.offset(wantLockStack[0]), t.threads.layout.offset(wantLockStack[2])
	m := t.threads.vm.memory()
	top := uint64(uint32(m.int32(thread + stack + t.threads.layout.offset(wantLockStack[1]))))
	first := stack + bottom // top is also an offset in the thread
	if m.err != nil || top <= first || top-first > 8*maxLockStack {
		return
	}
	var b [8 * maxLockStack]byte
	if !m.bytes(thread+first, b[:top-first]) {
		return
	}
	for i := uint64(0); i < top-first; i += 8 {
		object := wordAt(b[i:])
		for _, at := range [...]uint64{object, t.movedFrom(object)} {
			if at == 0 || at%8 != 0 {
				continue
			}
			m := t.threads.vm.memory()
			if mark := m.word(at); m.err == nil && !f(at, mark) {
				return
			}
		}
	}
}

// movedFrom returns where generational ZGC has moved the object of an address, 0 if it has not.
func (t *waiters) movedFrom(address uint64) uint64 {
	if c, ok := t.threads.readColours(); !ok || c.kind != zGenerational {
		return 0
	}
	if to, ok := t.threads.movedTo(address, true, true); ok && to != address {
		return to
	}
	return 0
}

// exclusiveOwner returns the kernel id of the thread that owns a synchronizer, or the number of a virtual thread; 0 if
// there is none, or it is unproven.
func (t *waiters) exclusiveOwner(object uint64) (tid int, virtual uint64) {
	f := &t.fields
	if !t.isOwnableSynchronizer(t.threads.klassOf(object, t.threads.oops.header)) {
		return 0, 0
	}
	owner, ok := t.readReference(object + f.exclusiveOwner)
	if !ok || owner == 0 || !t.threads.isThread(owner) {
		return 0, 0
	}
	m := t.threads.vm.memory()
	thread, number := m.word(owner+f.thread), m.word(owner+f.number)
	if thread == 0 && f.number != 0 && m.err == nil &&
		t.threads.className(t.threads.klassOf(owner, t.threads.oops.header)) == classVirtual {
		return 0, number
	}
	id, ok := t.threads.identify(thread)
	if !ok || t.threads.byTID[id.tid].thread != id.thread {
		return 0, 0
	}
	if object, ok := t.threadObject(id); !ok || object != owner {
		return 0, 0
	}
	return id.tid, 0
}

func (t *waiters) isOwnableSynchronizer(klass uint64) bool {
	f := &t.fields
	found := t.threads.searchSupers(klass, func(k uint64) bool {
		return k == f.ownableSynchronizer || f.ownableSynchronizer == 0 && t.threads.className(k) == classOwnable
	})
	if found == 0 || f.ownableSynchronizer != 0 {
		return found != 0
	}
	at, ok := t.threads.fieldOffset(found, "exclusiveOwnerThread", "Ljava/lang/Thread;")
	if ok {
		f.ownableSynchronizer, f.exclusiveOwner = found, at
	}
	return ok
}
