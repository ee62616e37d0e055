// SPDX-License-Identifier: Apache-2.0

package hotspot

import (
	"slices"

	"prywalk/internal/managed"
)

// # What threads wait for
//
// A JavaThread has the monitor that it waits to enter, or in which it waits for a notification. Its
// java.lang.Thread has a status, and the object that it was parked for. The thread itself writes all of these, and
// it sleeps: so they hold if it has not run until they were read. Where objects are, a collector may change
// meanwhile: the way is gone twice, as for names (threadnames.go). Who owns a monitor changes at any time, and is
// as of the moment of the reading.
//
// A thread that has been woken, and stands for a safepoint before it goes on, still says what it waited for, as it does
// to the machine's own tools.

// What waits need. Without it they have the kernel's names.
var (
	wantMonitor = []string{"ObjectMonitor::_object", "ObjectMonitor::_owner"}
	wantPending = [][]string{
		{"JavaThread::_current_pending_monitor", "JavaThread::_current_waiting_monitor"},
		{"Thread::_current_pending_monitor", "Thread::_current_waiting_monitor"},
	}
	// How a monitor says who owns it: by a number that each thread has (JDK 24 on), or by the address of the thread or of
	// a place on its stack.
	wantOwner     = [][]string{{"JavaThread::_monitor_owner_id"}, {"JavaThread::_stack_base", "JavaThread::_stack_size"}}
	wantLockStack = []string{"JavaThread::_lock_stack", "LockStack::_top", "LockStack::_base[0]"} // JDK 21 on
	wantVirtual   = []string{"JavaThread::_vthread"}                                              // JDK 20 on
)

// wantWaits are all fields that waits may need.
var wantWaits = append(append([][]string{wantMonitor, wantLockStack, wantVirtual}, wantPending...), wantOwner...)

// Bits of a java.lang.Thread's status (classfile/javaClasses.hpp, JavaThreadStatus; prims/jvmti.xml).
const (
	statusTimed    = 1 << 5
	statusSleeping = 1 << 6
	statusParked   = 1 << 9
)

// handleMonitors is the release from which on a monitor has its object by a handle.
const handleMonitors = 16

// markInflated is in the lowest two bits of an object's first word if a monitor belongs to it (markWord.hpp).
const markInflated = 2

// waiters knows what threads wait for.
type waiters struct {
	*threads
	pending []string
	owner   []string // nil: owners are not told
	fields  waitFields
	owners  []ownerID
	asked   int64 // when these were read
}

// waitFields are offsets of fields of Java classes, found once.
type waitFields struct {
	done            bool
	holder          uint64 // 0: the status is in the thread itself (until JDK 18)
	status, blocker uint64
	thread          uint64 // eetop: the JavaThread
	sync, exclusive uint64 // AbstractOwnableSynchronizer, and where its objects keep their owner; found when met first
}

// waitState is what was met on the way, and must be the same twice.
type waitState struct {
	kind    managed.WaitKind
	monitor uint64
	object  uint64 // 0: none, or it is being moved
	class   string
	timed   bool
	owner   int
	// anonymous: the owner was found by the addresses of objects.
	anonymous bool
}

// Waiting implements [managed.Waiter].
func (n *Names) Waiting(s *managed.Sleeper) (w managed.Wait, ok bool) {
	if !n.threadsReady() {
		return w, false
	}
	t := &n.waiters
	if t.threads == nil {
		t.threads = &n.threads
		l := n.v.layout
		if t.pending = l.first(wantPending); !l.has(wantMonitor) {
			t.pending = nil
		}
		t.owner = l.first(wantOwner)
		t.also = slices.Concat(t.pending, t.owner)
		if l.has(wantVirtual) {
			t.also = append(t.also, wantVirtual...)
		}
		for _, name := range slices.Concat(wantWaits...) {
			if l.off(name) > maxThreadOffset {
				t.pending = nil
			}
		}
	}
	if t.pending == nil {
		return w, false
	}
	known, ok := t.begin(s.TID)
	defer n.v.near.done()
	if !ok {
		return w, false
	}
	id, ok := t.identify(known.thread)
	if !ok || id.tid != s.TID {
		return w, false
	}
	got, later, ok := t.prove(id)
	if ok && (s.Live == nil || !s.Live.Unchanged()) {
		return managed.Wait{Later: true}, false
	}
	if !ok {
		return managed.Wait{Later: later}, false
	}
	w = managed.Wait{Kind: got.kind, Class: got.class, Address: got.monitor, Owner: got.owner, Timed: got.timed,
		Later: later}
	if w.Address == 0 {
		w.Address = got.object
	}
	return w, true
}

// prove goes the way twice. later: what moves objects was at work, so that not all is told.
func (t *waiters) prove(id threadID) (w waitState, later, ok bool) {
	count, calm := t.collections()
	first, ok := t.state(id, calm)
	if !ok {
		return w, !calm, false
	}
	w = first
	w.owner = t.ownerOf(&w)
	t.n.v.near.again()
	again, ok := t.state(id, calm)
	if !ok || again.kind != first.kind || again.monitor != first.monitor || again.timed != first.timed {
		return w, true, false
	}
	t.n.v.near.drop()
	after, still := t.collections()
	if later = !calm || !still || after != count || again != first; !later {
		return w, false, true
	}
	w.object, w.class = 0, "" // the kind holds: no object says it
	if w.kind == managed.WaitPark || w.anonymous {
		w.owner = 0
	}
	return w, true, true
}

// state goes the way once. Without calm no object is asked, but for the status, which is a number.
func (t *waiters) state(id threadID, calm bool) (w waitState, ok bool) {
	m := t.n.v.memory()
	pending, waiting := m.word(id.thread+t.l.off(t.pending[0])), m.word(id.thread+t.l.off(t.pending[1]))
	if m.failed {
		return w, false
	}
	if pending != 0 || waiting != 0 {
		w.kind, w.monitor = managed.WaitMonitor, pending
		if pending == 0 {
			w.kind, w.monitor = managed.WaitObject, waiting
		}
		if w.monitor%8 != 0 {
			return w, false
		}
		if calm {
			w.object, w.class = t.monitorObject(w.monitor)
			if _, status, ok := t.status(id); ok && w.kind == managed.WaitObject {
				w.timed = status&statusTimed != 0
			}
		}
		return w, true
	}
	if !calm {
		return w, false
	}
	return t.byStatus(id)
}

// monitorObject gives the object of a monitor and its class; 0 if it does not prove itself. Where a reference is
// stale, as with ZGC most of the time, what it leads to may be an old copy. The object's first word leads back to
// the monitor in both, and both are of one class.
func (t *waiters) monitorObject(monitor uint64) (object uint64, class string) {
	m := t.n.v.memory()
	ref := m.word(monitor + t.l.off("ObjectMonitor::_object"))
	if t.n.l.major >= handleMonitors {
		ref = m.word(ref)
	}
	var w way
	var ok bool
	if w.bad, w.shift, ok = t.colours(); !ok {
		return 0, ""
	}
	object, fresh := w.address(ref)
	if object == 0 || object%8 != 0 {
		return 0, ""
	}
	m = t.n.v.memory()
	mark := m.word(object)
	if m.failed || mark&3 != markInflated || !fresh && mark&^3 != monitor {
		return 0, ""
	}
	class = t.classOf(object)
	if !fresh {
		object = 0
	}
	return object, class
}

// plain gives where a reference of 8 bytes points to.
func (t *waiters) plain(ref uint64) (uint64, bool) {
	var w way
	var ok bool
	if w.bad, w.shift, ok = t.colours(); !ok {
		return 0, false
	}
	return w.address(ref)
}

// classOf gives the class of an object as people write it, "" if it is none.
func (t *waiters) classOf(object uint64) string {
	if t.oops.header == headerOpen && !t.learn() {
		return ""
	}
	return string(readable([]byte(t.className(t.klassOf(object, t.oops.header)))))
}

// learn finds out how objects look, by the threads that there are.
func (t *waiters) learn() bool {
	for _, id := range t.byTID {
		if _, ok := t.walk(id.thread); ok {
			return true
		}
	}
	return false
}
