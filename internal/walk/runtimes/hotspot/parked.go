// SPDX-License-Identifier: Apache-2.0

package hotspot

import "prywalk/internal/walk/waits"

func (t *waiters) readStatus(id threadID) (current uint64, status uint32, ok bool) {
	own, current, ok := t.threadObjects(id) // the carrier has the status, its virtual thread the blocker
	if !ok || !t.learnFields(own) {
		return 0, 0, false
	}
	holder := own
	if t.fields.holder != 0 {
		if holder, ok = t.readReference(own + t.fields.holder); !ok || holder == 0 {
			return 0, 0, false
		}
	}
	m := t.threads.vm.memory()
	status = uint32(m.int32(holder + t.fields.status))
	return current, status, m.err == nil
}

// waitByStatus returns the wait of a thread that sleeps or is parked, by its status bits; false for others.
func (t *waiters) waitByStatus(id threadID) (w waitState, ok bool) {
	object, status, ok := t.readStatus(id)
	if !ok {
		return w, false
	}
	w.answer.Timed = status&statusTimed != 0
	switch {
	case status&statusSleeping != 0:
		w.answer.Kind = waits.Sleep
		return w, true
	case status&statusParked == 0:
		return w, false
	}
	w.answer.Kind = waits.Park
	if blocker, ok := t.readReference(object + t.fields.blocker); ok && blocker != 0 {
		w.object, w.answer.Class = blocker, t.classOf(blocker)
	}
	return w, true
}

// threadObject returns the thread's java.lang.Thread, or false if it is unreadable, or runs a virtual thread.
func (t *waiters) threadObject(id threadID) (uint64, bool) {
	own, current, ok := t.threadObjects(id)
	return own, ok && own == current
}

// threadObjects returns the thread's java.lang.Thread, and the one that it runs: itself, or a virtual thread.
func (t *waiters) threadObjects(id threadID) (own, current uint64, ok bool) {
	ref, ok := t.threads.handled("JavaThread::_threadObj", id.object)
	runs, m := ref, t.threads.vm.memory()
	if t.threads.layout.has(wantVirtual) {
		if handle := m.word(id.thread + t.threads.layout.offset(wantVirtual[0])); handle != 0 {
			runs = m.word(handle)
		}
	}
	if m.err != nil || !ok {
		return 0, 0, false
	}
	c, ok := t.threads.readColours()
	own, valid := t.threads.resolve(c, ref)
	ok = ok && valid && own != 0 && t.threads.isThread(own)
	if runs == ref || !ok {
		return own, own, ok
	}
	current, valid = t.threads.resolve(c, runs)
	return own, current, valid && current != 0 && t.threads.isThread(current)
}

func (t *waiters) learnFields(object uint64) bool {
	f := &t.fields
	if f.searched {
		return f.status != 0
	}
	if !t.threads.oops.known && !t.learnOops() {
		return false
	}
	f.searched = true
	var ok bool
	if f.blocker, ok = t.threads.fieldOffset(t.threads.oops.thread, "parkBlocker", "Ljava/lang/Object;"); !ok {
		return false
	}
	if f.thread, ok = t.threads.fieldOffset(t.threads.oops.thread, "eetop", "J"); !ok {
		return false
	}
	f.number, _ = t.threads.fieldOffset(t.threads.oops.thread, "tid", "J")
	if f.status, ok = t.threads.fieldOffset(t.threads.oops.thread, "threadStatus", "I"); ok {
		return true
	}
	if f.holder, ok = t.threads.fieldOffset(t.threads.oops.thread, "holder", "Ljava/lang/Thread$FieldHolder;"); !ok {
		return false
	}
	holder, ok := t.readReference(object + f.holder)
	klass := t.threads.klassOf(holder, t.threads.oops.header)
	if !ok || t.threads.className(klass) != "java/lang/Thread$FieldHolder" {
		f.searched = false
		return false
	}
	f.status, ok = t.threads.fieldOffset(klass, "threadStatus", "I")
	return ok
}
