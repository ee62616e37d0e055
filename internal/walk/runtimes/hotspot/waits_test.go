// SPDX-License-Identifier: Apache-2.0

package hotspot

import (
	"testing"

	"prywalk/internal/walk/managed"
	"prywalk/internal/walk/waits"
)

type waiting struct {
	*threaded
	monitor, owned   uint64
	owner            uint64
	blocker          uint64
	status, park     uint64
	pending, waiting uint64
}

const ownerTID = 88

var waitOffsets = map[string]uint64{
	"ObjectMonitor::_object": 8, "ObjectMonitor::_owner": 16, "JavaThread::_current_pending_monitor": 40,
	"JavaThread::_current_waiting_monitor": 48, "JavaThread::_stack_base": 56, "JavaThread::_stack_size": 64,
	"JavaThread::_monitor_owner_id": 72,
}

func newWaiting(t testing.TB, release string) *waiting {
	w := &waiting{threaded: newThreaded(t, release), status: 40, park: 32, pending: 40, waiting: 48}
	r := namedReleases[release]
	fields := w.n.vm.layout.fields
	for name, off := range waitOffsets {
		if late := name == "JavaThread::_monitor_owner_id"; !late || r.major >= 24 {
			fields[name] = field{offset: off, size: 8}
		}
	}
	klass := w.word(w.class + 40)
	of := class{klass, w.word(klass + 32), w.word(w.word(klass + 32))}
	w.fieldsOf(r, of, "name", "Ljava/lang/String;", 24, "parkBlocker", "Ljava/lang/Object;", int(w.park),
		"threadStatus", "I", int(w.status), "eetop", "J", 48)
	list := w.word(w.word(w.list) + 8)
	waits := w.take(128)
	copy(w.mem[waits:], w.mem[w.thread:w.thread+24])
	w.thread, w.owner = waits, w.newOwner(klass)
	w.put(list, w.owner)
	w.put(list+8, w.thread)
	cart := w.newClass("com/example/Cart", "Cart.java")
	w.owned, w.monitor = w.newObject(cart.klass), w.take(64)
	handle := w.take(8)
	w.put(handle, w.owned)
	w.put(w.monitor+8, handle)
	w.put(w.owned, w.monitor|markMonitorValue)
	if w.put(w.monitor+16, 0x7777010); r.major >= 24 {
		w.put(w.monitor+16, 4711)
	}
	ownable := w.newClass(classOwnable, "AbstractOwnableSynchronizer.java")
	w.fieldsOf(r, ownable, "exclusiveOwnerThread", "Ljava/lang/Thread;", 12)
	lock := w.newClass("java/util/concurrent/locks/ReentrantLock$Sync", "ReentrantLock.java")
	w.put(lock.klass+40, ownable.klass)
	w.blocker = w.newObject(lock.klass)
	w.put32(w.blocker+12, int32(w.word(w.word(w.owner+16))))
	return w
}

func (w *waiting) newOwner(klass uint64) uint64 {
	thread, osThread, handle, object := w.take(128), w.take(32), w.take(8), w.newObject(klass)
	w.put(thread+8, osThread)
	w.put32(osThread+24, ownerTID)
	w.put(thread+16, handle)
	w.put(handle, object)
	w.put32(object+24, int32(w.str))
	w.put(object+48, thread)
	w.put(thread+56, 0x7778000)
	w.put(thread+64, 0x1000)
	w.put(thread+72, 4711)
	return thread
}

type sleepingIn struct {
	w         *waiting
	unchanged bool
}

func (s sleepingIn) Read(addr uint64, b []byte) int { return s.w.read(addr, b) }

func (s sleepingIn) Unchanged() bool { return s.unchanged }

func (w *waiting) ask() (managed.WaitAnswer, bool) {
	return w.n.waiting(&managed.WaitQuery{InnerTID: fakeTID, Live: sleepingIn{w, true}})
}

func (w *waiting) enters()   { w.put(w.thread+w.pending, w.monitor) }
func (w *waiting) notified() { w.put(w.thread+w.waiting, w.monitor) }

func (w *waiting) sleeps() { w.put32(w.object+w.status, statusSleeping|statusTimed) }

func (w *waiting) parks() {
	w.put32(w.object+w.status, statusParked)
	w.put32(w.object+w.park, int32(w.blocker))
}

func TestWaitsAreThoseOfTheJVM(t *testing.T) {
	const sync = "java.util.concurrent.locks.ReentrantLock$Sync"
	for _, release := range []string{"JDK 17", "JDK 25"} {
		for name, c := range map[string]struct {
			do   func(*waiting)
			want managed.WaitAnswer
			at   func(*waiting) uint64
		}{
			"a monitor": {(*waiting).enters, managed.WaitAnswer{Kind: waits.Monitor, Class: "com.example.Cart", Owner: ownerTID},
				func(w *waiting) uint64 { return w.monitor }},
			"a notification": {(*waiting).notified, managed.WaitAnswer{Kind: waits.ObjectWait, Class: "com.example.Cart"},
				func(w *waiting) uint64 { return w.monitor }},
			"a time": {(*waiting).sleeps, managed.WaitAnswer{Kind: waits.Sleep, Timed: true},
				func(*waiting) uint64 { return 0 }},
			"a lock": {(*waiting).parks, managed.WaitAnswer{Kind: waits.Park, Class: sync, Owner: ownerTID},
				func(w *waiting) uint64 { return w.blocker }},
		} {
			w := newWaiting(t, release)
			c.do(w)
			c.want.Address = c.at(w)
			if got, ok := w.ask(); !ok || got != c.want {
				t.Errorf("%s, %s: %+v, %v, want %+v", release, name, got, ok, c.want)
			}
		}
		w := newWaiting(t, release)
		if got, ok := w.ask(); ok {
			t.Errorf("%s: a thread that waits for nothing: %+v", release, got)
		}
	}
}

// As jstack: a java.lang.Class is locked by static synchronized methods.
func TestTheMonitorOfAClassHasItsName(t *testing.T) {
	for _, release := range []string{"JDK 17", "JDK 25"} {
		w := newWaiting(t, release)
		offset := w.take(8)
		w.n.vm.layout.fields[wantMirror[0]] = field{address: offset, size: 4}
		w.put32(offset, 48)
		shop := w.newClass("com/example/Shop", "Shop.java")
		mirror := w.newObject(w.newClass("java/lang/Class", "Class.java").klass)
		w.put(mirror, w.monitor|markMonitorValue)
		w.put(w.word(w.monitor+8), mirror)
		w.enters()
		for klass, want := range map[uint64]string{
			shop.klass: "java.lang.Class for com.example.Shop", 0: "java.lang.Class"} {
			w.put(mirror+48, klass)
			if got, ok := w.ask(); !ok || got.Class != want {
				t.Errorf("%s: %+v, %v, want %q", release, got, ok, want)
			}
		}
	}
}

func TestUnprovenWaitsAreRejected(t *testing.T) {
	for what, c := range map[string]struct {
		do, spoil func(*waiting)
		ok        bool
		class     bool
		owner     bool
	}{
		"a monitor that is no address": {(*waiting).enters,
			func(w *waiting) { w.put(w.thread+w.pending, w.monitor+4) }, false, false, false},
		"an object without a monitor": {(*waiting).enters,
			func(w *waiting) { w.put(w.owned, 1) }, true, false, true},
		"an object that is none": {(*waiting).enters,
			func(w *waiting) { w.put(w.word(w.monitor+8), 0x1001) }, true, false, true},
		"a collection": {(*waiting).enters,
			func(w *waiting) { w.mem[collectedHeapOf(w.threaded)+16] = 1 }, true, false, true},
		"no owner": {(*waiting).enters,
			func(w *waiting) { w.put(w.monitor+16, 0) }, true, true, false},
		"an owner that is no thread's": {(*waiting).enters,
			func(w *waiting) { w.put(w.monitor+16, 0x5555555) }, true, true, false},
		"an owner's memory that is gone": {(*waiting).enters,
			func(w *waiting) { w.put(w.owner+8, 0) }, true, true, false},
		"a lock that is none": {(*waiting).parks,
			func(w *waiting) { w.put32(w.object+w.park, 0x1004) }, true, false, false},
		"a lock whose owner is no thread": {(*waiting).parks,
			func(w *waiting) { w.put32(w.blocker+12, int32(w.str)) }, true, true, false},
		"a lock that nobody has": {(*waiting).parks,
			func(w *waiting) { w.put32(w.blocker+12, 0) }, true, true, false},
		"parked while memory is collected": {(*waiting).parks,
			func(w *waiting) { w.mem[collectedHeapOf(w.threaded)+16] = 1 }, false, false, false},
		"a thread of another number": {(*waiting).enters,
			func(w *waiting) { w.put32(w.osThread+24, 78) }, false, false, false},
		"a thread without an object": {(*waiting).parks,
			func(w *waiting) { w.put(w.handle, 0) }, false, false, false},
	} {
		w := newWaiting(t, "JDK 17")
		c.do(w)
		c.spoil(w)
		got, ok := w.ask()
		if ok != c.ok || (got.Class != "") != c.class || (got.Owner != 0) != c.owner {
			t.Errorf("%s: %+v, %v", what, got, ok)
		}
	}
	w := newWaiting(t, "JDK 17")
	w.enters()
	if got, ok := w.n.waiting(&managed.WaitQuery{InnerTID: fakeTID, Live: sleepingIn{w, false}}); ok || !got.Later {
		t.Errorf("a thread that has run meanwhile: %+v, %v", got, ok)
	}
}

// The carrier of a pinned virtual thread has the status of the wait, the virtual thread what it waits for.
func TestParkedCarrierHasTheBlockerOfItsVirtualThread(t *testing.T) {
	w := newWaiting(t, "JDK 25")
	w.parks()
	w.ask()
	handle, object := w.take(8), w.newObject(w.class)
	at := handle - w.thread
	for what, c := range map[string]struct {
		offset, handle, thread uint64
		ok, blocker            bool
	}{
		"no virtual thread":                  {at, 0, 0, true, true},
		"itself":                             {at, object, w.object, true, true},
		"a virtual thread without a blocker": {at, object, object, true, false},
		"no object":                          {at, object, 0, false, false},
		"unreadable":                         {uint64(len(w.mem)) - w.thread, 0, 0, false, false},
	} {
		w.put(handle, c.handle)
		w.put(object, c.thread)
		w.n.vm.layout.fields["JavaThread::_vthread"] = field{offset: c.offset, size: 8}
		if got, ok := w.ask(); ok != c.ok || (got.Address != 0) != c.blocker {
			t.Errorf("%s: %+v, %v", what, got, ok)
		}
	}
}

func TestWaitThatChangesWhileReadIsRejected(t *testing.T) {
	w := newWaiting(t, "JDK 17")
	w.enters()
	w.ask()
	read, reads := w.n.vm.host.Read, 0
	w.n.vm.readBy(func(addr uint64, b []byte) int {
		if at := w.thread + w.pending; addr <= at && at < addr+uint64(len(b)) {
			if reads++; reads == 2 {
				w.put(at, 0)
			}
		}
		return read(addr, b)
	})
	if got, ok := w.ask(); ok || reads != 2 {
		t.Errorf("%+v after %d reads", got, reads)
	}
}

func FuzzHostileWaits(f *testing.F) {
	f.Add(uint32(classesAt), []byte{1, 2, 3, 4, 5, 6, 7, 8}, uint8(0))
	f.Add(uint32(collectedAt), []byte{255, 255, 255, 255, 255, 255, 255, 255}, uint8(7))
	f.Fuzz(func(t *testing.T, at uint32, b []byte, how uint8) {
		w := newWaiting(t, map[bool]string{true: "JDK 25", false: "JDK 17"}[how&4 != 0])
		[]func(*waiting){(*waiting).enters, (*waiting).notified, (*waiting).sleeps, (*waiting).parks}[how&3](w)
		if uint64(at) < uint64(len(w.mem)) && uint64(at) >= collectedAt {
			copy(w.mem[at:], b)
		}
		if got, ok := w.ask(); ok && got.Kind == waits.NoWait {
			t.Errorf("a wait of no kind: %+v", got)
		}
	})
}

func BenchmarkJavaWait(b *testing.B) {
	for name, do := range map[string]func(*waiting){
		"monitor": (*waiting).enters, "lock": (*waiting).parks, "sleep": (*waiting).sleeps,
	} {
		b.Run(name, func(b *testing.B) {
			w := newWaiting(b, "JDK 17")
			do(w)
			w.ask()
			read, reads := w.n.vm.host.Read, 0
			w.n.vm.readBy(func(addr uint64, b []byte) int {
				reads++
				return read(addr, b)
			})
			b.ReportAllocs()
			for b.Loop() {
				if _, ok := w.ask(); !ok {
					b.Fatal("no answer")
				}
			}
			b.ReportMetric(float64(reads)/float64(b.N), "reads/op")
		})
	}
}

// Frames are those of a request whose client waits at a socket, and of one that the program itself parks.
func TestAVirtualThreadThatPollsWaitsForADescriptor(t *testing.T) {
	const park = "java.lang.VirtualThread.park"
	for _, c := range []struct {
		functions []string
		kind      waits.Kind
		wait      string
	}{
		{[]string{park, "java.util.concurrent.locks.LockSupport.park", "sun.nio.ch.Poller.poll", "sun.nio.ch.Poller.poll",
			"sun.nio.ch.NioSocketImpl.park", "sun.nio.ch.NioSocketImpl.read", "shop.Shop.price"}, waits.Descriptor,
			"sun.nio.ch.NioSocketImpl.read"},
		{[]string{park, "java.util.concurrent.locks.LockSupport.park", "shop.Shop.order", "sun.nio.ch.Poller.poll"},
			waits.Park, "java.util.concurrent.locks.LockSupport.park"},
		{[]string{park, "sun.nio.ch.Poller.pollAll", "shop.Shop.order"}, waits.Park, "sun.nio.ch.Poller.pollAll"},
	} {
		var list []managed.Frame
		for _, name := range c.functions {
			list = append(list, managed.Frame{Function: name})
		}
		s := newVirtualStack(list)
		if w := new(virtualThreads).waitOf(new(virtualThread), "PARKED", s); w.Kind != c.kind || s.wait != c.wait {
			t.Errorf("%v wait for %v in %s, want %v in %s", c.functions, w.Kind, s.wait, c.kind, c.wait)
		}
	}
}
