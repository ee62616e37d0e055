// SPDX-License-Identifier: Apache-2.0

package hotspot

import "prywalk/internal/waits"

type ownerID struct {
	id       threadID
	number   uint64
	from, to uint64 // stack bounds
}

// ownerAnonymous is the owner of a monitor inflated for a stack lock, until that is unlocked
// (runtime/objectMonitor.hpp).
const ownerAnonymous = 1

const (
	maxOwners    = 1 << 12
	maxLockStack = 8 // entries (runtime/lockStack.hpp, CAPACITY)
)

const classOwnable = "java/util/concurrent/locks/AbstractOwnableSynchronizer"

func (t *waiters) ownerOf(w *waitState) int {
	switch {
	case w.kind == waits.Monitor && t.owner != nil:
		m := t.names.vm.memory()
		ownerWord := m.word(w.monitor + t.layout.offset("ObjectMonitor::_owner"))
		switch {
		case m.failed || ownerWord == 0:
			return 0
		case ownerWord == ownerAnonymous:
			tid, byMark := t.ownerByLockStack(w.monitor, w.object)
			w.anonymous = !byMark
			return tid
		}
		return t.ownerByWord(ownerWord)
	case w.kind == waits.Park && w.object != 0:
		return t.exclusiveOwner(w.object)
	}
	return 0
}

// ownerByWord gives the id of the thread that a monitor's owner word denotes; 0 if none of the known threads, which are
// read again at most every listEvery ns.
func (t *waiters) ownerByWord(ownerWord uint64) int {
	for range 2 {
		for i := range t.owners {
			if o := &t.owners[i]; t.denotes(o, ownerWord) {
				if now, ok := t.readOwner(o.id.thread); ok && now == *o {
					return o.id.tid
				}
			}
		}
		now := t.names.clock()
		if t.lastOwners != 0 && now-t.lastOwners < listEvery {
			break
		}
		t.lastOwners = now
		t.owners = t.owners[:0]
		for _, id := range t.byTID {
			if o, ok := t.readOwner(id.thread); ok && len(t.owners) < maxOwners {
				t.owners = append(t.owners, o)
			}
		}
	}
	return 0
}

// denotes reports whether a monitor's owner word stands for a thread (wantOwner).
func (t *waiters) denotes(o *ownerID, ownerWord uint64) bool {
	if len(t.owner) == 1 {
		return o.number == ownerWord
	}
	return o.id.thread == ownerWord || ownerWord >= o.from && ownerWord < o.to
}

func (t *waiters) readOwner(thread uint64) (o ownerID, ok bool) {
	if o.id, ok = t.identify(thread); !ok || t.byTID[o.id.tid].thread != thread {
		return o, false
	}
	m := t.names.vm.memory()
	if len(t.owner) == 1 {
		o.number = m.word(thread + t.layout.offset(t.owner[0]))
		return o, !m.failed && o.number > ownerAnonymous
	}
	o.to = m.word(thread + t.layout.offset(t.owner[0]))
	o.from = o.to - m.word(thread+t.layout.offset(t.owner[1]))
	return o, !m.failed && o.from < o.to
}

// ownerByLockStack gives the thread with the object on its lock stack: the same address, or (byMark) one whose mark
// leads to the monitor.
func (t *waiters) ownerByLockStack(monitor, object uint64) (tid int, byMark bool) {
	if !t.names.vm.layout.has(wantLockStack) {
		return 0, false
	}
	at, first := t.layout.offset(wantLockStack[0]), t.layout.offset(wantLockStack[0])+t.layout.offset(wantLockStack[2])
	asked := 0
	for tid, known := range t.byTID {
		thread := known.thread
		if asked++; asked > maxOwners {
			break
		}
		m := t.names.vm.memory()
		top := uint64(uint32(m.int32(thread + at + t.layout.offset(wantLockStack[1]))))
		if m.failed || top <= first || top-first > 8*maxLockStack {
			continue
		}
		var b [8 * maxLockStack]byte
		m.bytes(thread+first, b[:top-first])
		for i := uint64(0); i < top-first && !m.failed; i += 8 {
			at := wordAt(b[i:])
			if at == 0 || at%8 != 0 {
				continue
			}
			if byMark = m.word(at) == monitor|markMonitorValue; byMark || at == object {
				if id, ok := t.identify(thread); ok && id.tid == tid {
					return tid, byMark
				}
			}
		}
	}
	return 0, false
}

// exclusiveOwner gives the id of the thread in an AbstractOwnableSynchronizer's exclusiveOwnerThread; 0: none, another
// class, or unproven.
func (t *waiters) exclusiveOwner(object uint64) int {
	f := &t.fields
	if !t.isOwnableSynchronizer(t.klassOf(object, t.oops.header)) {
		return 0
	}
	owner, ok := t.readReference(object + f.exclusiveOwner)
	if !ok || owner == 0 || !t.isThread(owner) {
		return 0
	}
	m := t.names.vm.memory()
	id, ok := t.identify(m.word(owner + f.thread))
	if !ok || m.failed || t.byTID[id.tid].thread != id.thread {
		return 0
	}
	if is, ok := t.threadObject(id); !ok || is != owner {
		return 0
	}
	return id.tid
}

// isOwnableSynchronizer reports whether klass is AbstractOwnableSynchronizer or a subclass. The first one fixes the
// class and the offset of its owner.
func (t *waiters) isOwnableSynchronizer(klass uint64) bool {
	f := &t.fields
	for range maxSupers {
		if klass == 0 || klass%8 != 0 {
			return false
		}
		if f.ownableSynchronizer == 0 && t.className(klass) == classOwnable {
			at, ok := t.fieldOffset(klass, "exclusiveOwnerThread", "Ljava/lang/Thread;")
			if !ok {
				return false
			}
			f.ownableSynchronizer, f.exclusiveOwner = klass, at
		}
		if klass == f.ownableSynchronizer {
			return true
		}
		m := t.names.vm.memory()
		if klass = m.word(klass + t.layout.offset("Klass::_super")); m.failed {
			return false
		}
	}
	return false
}
