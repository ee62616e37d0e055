// SPDX-License-Identifier: Apache-2.0

package hotspot

import (
	"prywalk/internal/procmem"
	"prywalk/internal/waits"
)

// ownerID is what a monitor's owner word can have of a thread.
type ownerID struct {
	id       threadID
	number   uint64 // since JDK 24
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

// ownerOf returns the id of the thread that holds what w waits for; 0: none, or unknown.
func (t *waiters) ownerOf(w *waitState) int {
	switch {
	case w.kind == waits.Monitor && t.owner != nil:
		m := t.vm.memory()
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

// ownerByWord returns the id of the thread that a monitor's owner word denotes; 0 if none of the known threads, which
// are read again at most every listEvery ns.
func (t *waiters) ownerByWord(ownerWord uint64) int {
	for range 2 {
		for i := range t.owners {
			if o := &t.owners[i]; t.denotes(o, ownerWord) {
				if again, ok := t.readOwner(o.id.thread); ok && again == *o {
					return o.id.tid
				}
			}
		}
		now := procmem.Now()
		if t.ownersReadAt != 0 && now-t.ownersReadAt < listEvery {
			break
		}
		t.ownersReadAt = now
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
	m := t.vm.memory()
	if len(t.owner) == 1 {
		o.number = m.word(thread + t.layout.offset(t.owner[0]))
		return o, !m.failed && o.number > ownerAnonymous
	}
	o.to = m.word(thread + t.layout.offset(t.owner[0]))
	o.from = o.to - m.word(thread+t.layout.offset(t.owner[1]))
	return o, !m.failed && o.from < o.to
}

// ownerByLockStack returns the thread with the object on its lock stack: the same address, or (byMark) one whose mark
// leads to the monitor.
func (t *waiters) ownerByLockStack(monitor, object uint64) (tid int, byMark bool) {
	if !t.vm.layout.has(wantLockStack) {
		return 0, false
	}
	examined := 0
	for tid, known := range t.byTID {
		if examined++; examined > maxOwners {
			break
		}
		holds, marked := t.hasOnLockStack(known.thread, monitor, object)
		if !holds {
			continue
		}
		if id, ok := t.identify(known.thread); ok && id.tid == tid {
			return tid, marked
		}
	}
	return 0, false
}

// hasOnLockStack reports whether a thread's lock stack has the object, and whether by a mark that leads to the monitor.
func (t *waiters) hasOnLockStack(thread, monitor, object uint64) (holds, byMark bool) {
	stack, bottom := t.layout.offset(wantLockStack[0]), t.layout.offset(wantLockStack[2])
	m := t.vm.memory()
	top := uint64(uint32(m.int32(thread + stack + t.layout.offset(wantLockStack[1]))))
	first := stack + bottom // top is an offset in the thread, too
	if m.failed || top <= first || top-first > 8*maxLockStack {
		return false, false
	}
	var b [8 * maxLockStack]byte
	m.bytes(thread+first, b[:top-first])
	for i := uint64(0); i < top-first && !m.failed; i += 8 {
		entry := wordAt(b[i:])
		if entry == 0 || entry%8 != 0 {
			continue
		}
		if byMark = m.word(entry) == monitor|markMonitorValue; byMark || entry == object {
			return true, byMark
		}
	}
	return false, false
}

// exclusiveOwner returns the id of the thread in an AbstractOwnableSynchronizer's exclusiveOwnerThread; 0: none,
// another class, or unproven.
func (t *waiters) exclusiveOwner(object uint64) int {
	f := &t.fields
	if !t.isOwnableSynchronizer(t.klassOf(object, t.oops.header)) {
		return 0
	}
	owner, ok := t.readReference(object + f.exclusiveOwner)
	if !ok || owner == 0 || !t.isThread(owner) {
		return 0
	}
	m := t.vm.memory()
	id, ok := t.identify(m.word(owner + f.thread))
	if !ok || m.failed || t.byTID[id.tid].thread != id.thread {
		return 0
	}
	if object, ok := t.threadObject(id); !ok || object != owner {
		return 0
	}
	return id.tid
}

// isOwnableSynchronizer reports whether klass is AbstractOwnableSynchronizer or a subclass. The first one fixes the
// class and the offset of its owner.
func (t *waiters) isOwnableSynchronizer(klass uint64) bool {
	f := &t.fields
	found := t.searchSupers(klass, func(k uint64) bool {
		return k == f.ownableSynchronizer || f.ownableSynchronizer == 0 && t.className(k) == classOwnable
	})
	if found == 0 || f.ownableSynchronizer != 0 {
		return found != 0
	}
	at, ok := t.fieldOffset(found, "exclusiveOwnerThread", "Ljava/lang/Thread;")
	if ok {
		f.ownableSynchronizer, f.exclusiveOwner = found, at
	}
	return ok
}
