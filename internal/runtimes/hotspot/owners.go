// SPDX-License-Identifier: Apache-2.0

package hotspot

import (
	"cmp"
	"slices"

	"prywalk/internal/procmem"
	"prywalk/internal/waits"
)

// ownerID is what a monitor's owner word can have of a thread.
type ownerID struct {
	id threadID
	// Words in [from, to) denote the thread: the addresses of its stack, since JDK 24 its number only.
	from, to uint64
}

// lockEntry is an object on a thread's lock stack, or that object's monitor.
type lockEntry struct {
	word   uint64
	thread threadID
}

// ownerAnonymous is the owner of a monitor inflated for a stack lock, until that is unlocked
// (runtime/objectMonitor.hpp).
const ownerAnonymous = 1

const maxLockStack = 8 // entries (runtime/lockStack.hpp, CAPACITY)

const classOwnable = "java/util/concurrent/locks/AbstractOwnableSynchronizer"

// readingPace bounds how often all threads are read.
type readingPace struct{ begun, ended int64 } // of the last reading, CLOCK_MONOTONIC ns; 0: none

// restRatio is how much longer than a reading of all threads the pause after it is at least: 65,536 threads take about
// half a second.
const restRatio = 20

// begin reports whether all threads may be read now, not within rest ns after the last reading.
func (p *readingPace) begin(rest int64) bool {
	now := procmem.Now()
	if p.begun != 0 && now-p.ended < max(rest, restRatio*(p.ended-p.begun)) {
		return false
	}
	p.begun = now
	return true
}

func (p *readingPace) end() { p.ended = procmem.Now() }

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

// ownerByWord returns the id of the thread that a monitor's owner word denotes (wantOwner); 0 if none of the known
// threads, which are read again at most every listEvery ns.
func (t *waiters) ownerByWord(ownerWord uint64) int {
	for range 2 {
		if o, ok := t.findOwner(ownerWord); ok {
			if again, ok := t.readOwner(o.id.thread); ok && again == o {
				return o.id.tid
			}
		}
		if len(t.owner) == 2 {
			if o, ok := t.readOwner(ownerWord); ok {
				return o.id.tid
			}
		}
		if !t.readOwners() {
			break
		}
	}
	return 0
}

// findOwner returns the thread whose stack, or number, the word was at the last reading.
func (t *waiters) findOwner(word uint64) (o ownerID, ok bool) {
	i, found := slices.BinarySearchFunc(t.owners, word, func(o ownerID, word uint64) int {
		return cmp.Compare(o.from, word)
	})
	if !found {
		i--
	}
	if i < 0 || word >= t.owners[i].to {
		return o, false
	}
	return t.owners[i], true
}

// readOwners reads the owner words of all threads; false if it is too early.
func (t *waiters) readOwners() bool {
	if !t.ownersPace.begin(listEvery) {
		return false
	}
	t.owners = t.owners[:0]
	for _, id := range t.byTID {
		if o, ok := t.readOwner(id.thread); ok {
			t.owners = append(t.owners, o)
		}
	}
	slices.SortFunc(t.owners, func(a, b ownerID) int { return cmp.Compare(a.from, b.from) })
	t.ownersPace.end()
	return true
}

// readOwner reads the owner words of the listed thread at an address.
func (t *waiters) readOwner(thread uint64) (o ownerID, ok bool) {
	if o.id, ok = t.identify(thread); !ok || t.byTID[o.id.tid].thread != thread {
		return o, false
	}
	m := t.vm.memory()
	if len(t.owner) == 1 {
		o.from = m.word(thread + t.layout.offset(t.owner[0]))
		o.to = o.from + 1
		return o, !m.failed && o.from > ownerAnonymous
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
	for range 2 {
		for _, word := range [...]uint64{monitor, object} {
			if tid, byMark = t.findLockEntry(word, monitor, object); tid != 0 {
				return tid, byMark
			}
		}
		if !t.readLockStacks() {
			break
		}
	}
	return 0, false
}

// findLockEntry is ownerByLockStack for the threads whose lock stacks had a word.
func (t *waiters) findLockEntry(word, monitor, object uint64) (tid int, byMark bool) {
	i, _ := slices.BinarySearchFunc(t.lockEntries, word, func(e lockEntry, word uint64) int {
		return cmp.Compare(e.word, word)
	})
	for ; i < len(t.lockEntries) && t.lockEntries[i].word == word; i++ {
		known := t.lockEntries[i].thread
		holds, marked := t.hasOnLockStack(known.thread, monitor, object)
		if !holds || t.byTID[known.tid] != known {
			continue
		}
		if id, ok := t.identify(known.thread); ok && id.tid == known.tid {
			return id.tid, marked
		}
	}
	return 0, false
}

// readLockStacks reads the lock stacks of all threads; false if it is too early.
func (t *waiters) readLockStacks() bool {
	if !t.lockEntriesPace.begin(0) {
		return false
	}
	t.lockEntries = t.lockEntries[:0]
	for _, id := range t.byTID {
		t.eachLocked(id.thread, func(object, mark uint64) bool {
			t.lockEntries = append(t.lockEntries, lockEntry{object, id})
			if mark&3 == markMonitorValue {
				t.lockEntries = append(t.lockEntries, lockEntry{mark &^ 3, id})
			}
			return true
		})
	}
	slices.SortFunc(t.lockEntries, func(a, b lockEntry) int { return cmp.Compare(a.word, b.word) })
	t.lockEntriesPace.end()
	return true
}

// hasOnLockStack reports whether a thread's lock stack has the object, and whether by a mark that leads to the monitor.
func (t *waiters) hasOnLockStack(thread, monitor, object uint64) (holds, byMark bool) {
	t.eachLocked(thread, func(entry, mark uint64) bool {
		byMark = mark == monitor|markMonitorValue
		holds = byMark || entry == object
		return !holds
	})
	return holds, byMark
}

// eachLocked calls f with the objects on a thread's lock stack and their marks, until it returns false.
func (t *waiters) eachLocked(thread uint64, f func(object, mark uint64) bool) {
	stack, bottom := t.layout.offset(wantLockStack[0]), t.layout.offset(wantLockStack[2])
	m := t.vm.memory()
	top := uint64(uint32(m.int32(thread + stack + t.layout.offset(wantLockStack[1]))))
	first := stack + bottom // top is an offset in the thread, too
	if m.failed || top <= first || top-first > 8*maxLockStack {
		return
	}
	var b [8 * maxLockStack]byte
	m.bytes(thread+first, b[:top-first])
	for i := uint64(0); i < top-first && !m.failed; i += 8 {
		object := wordAt(b[i:])
		if object == 0 || object%8 != 0 {
			continue
		}
		if mark := m.word(object); !f(object, mark) {
			return
		}
	}
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
