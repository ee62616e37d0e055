// SPDX-License-Identifier: Apache-2.0

package hotspot

import "prywalk/internal/waits"

// readStatus reads a thread's java.lang.Thread and the status bits in it; false if unproven.
func (t *waiters) readStatus(id threadID) (object uint64, status uint32, ok bool) {
	object, ok = t.threadObject(id)
	if !ok || !t.learnFields(object) {
		return 0, 0, false
	}
	at := object + t.fields.status
	if t.fields.holder != 0 {
		holder, ok := t.readReference(object + t.fields.holder)
		if !ok || holder == 0 {
			return 0, 0, false
		}
		at = holder + t.fields.status
	}
	m := t.names.vm.memory()
	status = uint32(m.int32(at))
	return object, status, !m.failed
}

// waitByStatus gives the wait of a thread that sleeps or is parked, by its status bits; false for others.
func (t *waiters) waitByStatus(id threadID) (w waitState, ok bool) {
	object, status, ok := t.readStatus(id)
	if !ok {
		return w, false
	}
	w.timed = status&statusTimed != 0
	switch {
	case status&statusSleeping != 0:
		w.kind = waits.Sleep
		return w, true
	case status&statusParked == 0:
		return w, false
	}
	w.kind = waits.Park
	if blocker, ok := t.readReference(object + t.fields.blocker); ok && blocker != 0 {
		w.object, w.class = blocker, t.classOf(blocker)
	}
	return w, true
}

// threadObject gives a thread's java.lang.Thread; false while it runs a virtual thread.
func (t *waiters) threadObject(id threadID) (uint64, bool) {
	ref := id.object
	m := t.names.vm.memory()
	if t.layout.fields["JavaThread::_threadObj"].handle {
		ref = m.word(ref)
	}
	if t.layout.has(wantVirtual) {
		if at := m.word(id.thread + t.layout.offset(wantVirtual[0])); at != 0 && m.word(at) != ref {
			return 0, false
		}
	}
	object, ok := t.uncoloured(ref)
	return object, ok && !m.failed && t.isThread(object)
}

func (t *waiters) learnFields(object uint64) bool {
	f := &t.fields
	if f.found {
		return f.status != 0
	}
	if !t.oops.known && !t.learnOops() {
		return false
	}
	var ok1, ok2 bool
	f.blocker, ok1 = t.fieldOffset(t.oops.thread, "parkBlocker", "Ljava/lang/Object;")
	f.thread, ok2 = t.fieldOffset(t.oops.thread, "eetop", "J")
	if f.found = true; !ok1 || !ok2 {
		return false
	}
	if f.status, ok1 = t.fieldOffset(t.oops.thread, "threadStatus", "I"); ok1 {
		return true
	}
	if f.holder, ok1 = t.fieldOffset(t.oops.thread, "holder", "Ljava/lang/Thread$FieldHolder;"); !ok1 {
		return false
	}
	holder, ok := t.readReference(object + f.holder)
	klass := t.klassOf(holder, t.oops.header)
	if !ok || t.className(klass) != "java/lang/Thread$FieldHolder" {
		f.found = false
		return false
	}
	f.status, ok = t.fieldOffset(klass, "threadStatus", "I")
	return ok
}
