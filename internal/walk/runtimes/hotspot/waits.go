// SPDX-License-Identifier: Apache-2.0

package hotspot

import (
	"cmp"

	"prywalk/internal/walk/managed"
	"prywalk/internal/walk/waits"
)

// # Waits of threads
//
// A JavaThread has the monitor that it enters or waits in; its java.lang.Thread has a status and the object that it
// is parked for. The thread writes these itself: they are valid if it has not run until the read. A woken thread that
// a safepoint stops still has its wait.

var (
	wantMonitor = []string{"ObjectMonitor::_object", "ObjectMonitor::_owner"}
	wantPending = []string{"JavaThread::_current_pending_monitor", "JavaThread::_current_waiting_monitor"}
	// A thread's id (since JDK 24), its address, or one on its stack.
	wantOwner     = [][]string{{"JavaThread::_monitor_owner_id"}, {"JavaThread::_stack_base", "JavaThread::_stack_size"}}
	wantLockStack = []string{"JavaThread::_lock_stack", "LockStack::_top", "LockStack::_base[0]"} // since JDK 21
	wantVirtual   = []string{"JavaThread::_vthread"}                                              // since JDK 20
	wantMirror    = []string{"java_lang_Class::_klass_offset"}
)

var wantWaits = append([][]string{wantMonitor, wantPending, wantLockStack, wantVirtual, wantMirror}, wantOwner...)

// Status bits of java.lang.Thread (classfile/javaClasses.hpp, JavaThreadStatus; prims/jvmti.xml).
const (
	statusTimed    = 1 << 5
	statusSleeping = 1 << 6
	statusParked   = 1 << 9
)

// The first release whose monitors hold object handles.
const handleMonitors = 16

// In bits 0 and 1 of the mark of an object with a monitor (markWord.hpp).
const markMonitorValue = 2

type waiters struct {
	threads    *threads
	fields     waitFields
	index      threadIndex
	lastHolder int  // last thread whose lock stack had an object; 0 means none
	still      bool // the last query's memory is a core's
}

type waitFields struct {
	searched        bool
	holder          uint64 // of Thread$FieldHolder; 0 means that its fields are in the thread (until JDK 18)
	status, blocker uint64
	thread          uint64 // eetop: the JavaThread
	number          uint64 // tid; 0 means that it has another name
	// AbstractOwnableSynchronizer, and its field exclusiveOwnerThread.
	ownableSynchronizer, exclusiveOwner uint64
}

type waitState struct {
	answer    managed.WaitAnswer // but for Address
	monitor   uint64             // 0 means none
	object    uint64             // 0 means none, or being moved
	anonymous bool               // the owner was found by addresses of objects
}

func (j *javaFrames) waiting(q *managed.WaitQuery) (answer managed.WaitAnswer, ok bool) {
	if !j.threadsReady() || !j.threads.layout.waits {
		return answer, false
	}
	t := &j.waiters
	t.still = q.Still
	known, ok := t.threads.beginQuery(q.InnerTID)
	defer t.threads.vm.cached.bypass()
	if !ok {
		return answer, false
	}
	id, ok := t.threads.identify(known.thread)
	if !ok || id.tid != q.InnerTID {
		return answer, false
	}
	w, later, ok := t.proveWait(id)
	switch {
	case !ok:
		return managed.WaitAnswer{Later: later}, false
	case q.Live == nil || !q.Live.Unchanged():
		return managed.WaitAnswer{Later: true}, false
	}
	w.answer.Later, w.answer.Address = later, cmp.Or(w.monitor, w.object)
	return w.answer, true
}

// proveWait reads the wait twice; it returns false if there is none, or the readings differ. later means that a later
// answer may be complete.
func (t *waiters) proveWait(id threadID) (w waitState, later, ok bool) {
	first, ok := t.readWait(id)
	if !ok {
		return w, !t.threads.noPause, false
	}
	w = first
	owner, unread := t.ownerOf(&w)
	w.answer.Owner = owner
	t.threads.vm.cached.reread()
	again, ok := t.readWait(id)
	if !ok || again.answer.Kind != first.answer.Kind || again.monitor != first.monitor ||
		again.answer.Timed != first.answer.Timed {
		return w, true, false
	}
	t.threads.vm.cached.bypass()
	after, still := t.threads.readCollections()
	if later = !t.threads.noPause || !still || after != t.threads.collected || again != first; !later {
		return w, unread, true
	}
	w.object, w.answer.Class = 0, "" // the kind remains valid
	if w.answer.Kind == waits.Park || w.anonymous {
		w.answer.Owner, w.answer.OwnerTask = 0, 0
	}
	return w, true, true
}

// readWait reads the wait once; it returns false if there is none. While a collector stops the threads (noPause is
// false), it reads only the monitors.
func (t *waiters) readWait(id threadID) (w waitState, ok bool) {
	m := t.threads.vm.memory()
	pending := m.word(id.thread + t.threads.layout.offset(wantPending[0]))
	waiting := m.word(id.thread + t.threads.layout.offset(wantPending[1]))
	if m.err != nil {
		return w, false
	}
	if pending != 0 || waiting != 0 {
		w.answer.Kind, w.monitor = waits.Monitor, pending
		if pending == 0 {
			w.answer.Kind, w.monitor = waits.ObjectWait, waiting
		}
		if w.monitor%8 != 0 {
			return w, false
		}
		if t.threads.noPause {
			w.object, w.answer.Class = t.monitorObject(w.monitor)
			if _, status, ok := t.readStatus(id); ok && w.answer.Kind == waits.ObjectWait {
				w.answer.Timed = status&statusTimed != 0
			}
		}
		return w, true
	}
	if !t.threads.noPause {
		return w, false
	}
	return t.waitByStatus(id)
}

// monitorObject returns a monitor's object and class. A reference may lead to an old copy (ZGC), whose mark must lead
// to the monitor.
func (t *waiters) monitorObject(monitor uint64) (object uint64, class string) {
	m := t.threads.vm.memory()
	ref := m.word(monitor + t.threads.layout.offset("ObjectMonitor::_object"))
	if t.threads.vm.nameLayout.major >= handleMonitors {
		ref = m.word(ref)
	}
	c, ok := t.threads.readColours()
	object, fresh := t.threads.resolve(c, ref)
	if !fresh {
		object, _ = c.decode(ref)
	}
	if !ok || object == 0 || object%8 != 0 {
		return 0, ""
	}
	m = t.threads.vm.memory()
	mark := m.word(object)
	if m.err != nil || mark&3 != markMonitorValue || !fresh && mark&^3 != monitor {
		return 0, ""
	}
	class = t.classOf(object)
	if !fresh {
		object = 0
	}
	return object, class
}
