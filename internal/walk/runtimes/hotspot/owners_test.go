// SPDX-License-Identifier: Apache-2.0

package hotspot

import (
	"testing"

	"prywalk/internal/host/procmem"
	"prywalk/internal/walk/managed"
	"prywalk/internal/walk/waits"
)

const manyThreads = 5000

// Each thread owns its monitor, by number, by a word on its stack, or (lockStacks) with the object on its lock stack.
func (w *waiting) listMany(lockStacks bool) (monitors []uint64) {
	const threadSize, objectSize = 160, 16
	for i, name := range wantLockStack {
		if lockStacks {
			w.n.vm.layout.fields[name] = field{offset: []uint64{80, 0, 8}[i], size: 8}
		}
	}
	w.free = uint64(len(w.mem))
	w.mem = append(w.mem, make([]byte, (manyThreads+2)*8+manyThreads*(threadSize+32+objectSize+64+8)+128)...)
	list, all := w.word(w.list), w.take(8*(manyThreads+2))
	copy(w.mem[all:], w.mem[w.word(list+8):][:16])
	for i := range uint64(manyThreads) {
		thread, osThread, object, monitor, handle := w.take(threadSize), w.take(32), w.take(objectSize), w.take(64), w.take(8)
		w.put(all+16+8*i, thread)
		w.put(thread+8, osThread)
		w.put32(osThread+24, int32(1000+i))
		stackLow := 0x7f0000000000 + 0x10000*i
		w.put(thread+56, stackLow+0x8000)
		w.put(thread+64, 0x8000)
		w.put(thread+72, 10000+i)
		w.put(handle, object)
		w.put(monitor+8, handle)
		w.put(object, monitor|markMonitorValue)
		switch major := w.n.vm.nameLayout.major; {
		case lockStacks:
			w.put(monitor+16, ownerAnonymous)
			w.put32(thread+80, 96)
			w.put(thread+88, object)
		case major >= 24:
			w.put(monitor+16, 10000+i)
		default:
			w.put(monitor+16, stackLow+0x100)
		}
		monitors = append(monitors, monitor)
	}
	w.put(list+8, all)
	w.put32(list+4, manyThreads+2)
	return monitors
}

func TestEachOfManyOwnersIsFoundAtBoundedCost(t *testing.T) {
	for name, c := range map[string]struct {
		release    string
		lockStacks bool
	}{
		"stack addresses": {"JDK 17", false}, "numbers": {"JDK 25", false}, "lock stacks": {"JDK 25", true},
	} {
		w := newWaiting(t, c.release)
		monitors := w.listMany(c.lockStacks)
		read, reads := w.n.vm.host.Read, 0
		w.n.vm.readBy(func(addr uint64, b []byte) int {
			reads++
			return read(addr, b)
		})
		missed, most := 0, 0
		for i, monitor := range monitors {
			w.enter(monitor)
			before := reads
			got, ok := w.ask()
			if i > 0 {
				most = max(most, reads-before)
			} else if w.n.waiters.index.ended == 0 {
				t.Errorf("%s: no thread is read by the first question", name)
			}
			if !ok || got.Later || got.Kind != waits.Monitor || got.Owner != 1000+i {
				missed++
			}
		}
		if missed > 0 {
			t.Errorf("%s: %d of %d owners are not found", name, missed, manyThreads)
		}
		if most := 100 * manyThreads; reads > most {
			t.Errorf("%s: %d reads for %d waits, want at most %d", name, reads, manyThreads, most)
		}
		if most > 100 {
			t.Errorf("%s: %d reads for a wait whose owner was read before, want at most 100", name, most)
		}
	}
}

func (w *waiting) enter(monitor uint64) { w.put(w.thread+w.pending, monitor) }

// readOn asks until all threads have been read again.
func (w *waiting) readOn() {
	for range 2 {
		w.n.waiters.index.begun = w.n.waiters.index.ended
		w.ask()
	}
}

func (w *waiting) threadOf(i int) uint64 { return w.word(w.word(w.word(w.list)+8) + 16 + 8*uint64(i)) }

func (w *waiting) objectOf(monitor uint64) uint64 { return w.word(w.word(monitor + 8)) }

// All threads have been read, and may not be read again for an hour.
func ownersRead(t *testing.T) (w *waiting, monitors []uint64) {
	w = newWaiting(t, "JDK 25")
	monitors = w.listMany(true)
	w.put(w.monitor+16, ownerAnonymous) // no thread holds it
	w.enters()
	w.readOn()
	now := procmem.Now()
	w.n.waiters.index.begun, w.n.waiters.index.ended = now-3600e9/restRatio, now
	return w, monitors
}

func TestOwnerAmongThreadsThatMayNotBeReadYetIsLater(t *testing.T) {
	w, monitors := ownersRead(t)
	const former, now = 7, 9
	w.put(w.threadOf(now)+88, w.objectOf(monitors[former]))
	w.put32(w.threadOf(former)+80, 88) // has none
	w.enter(monitors[former])
	if got, ok := w.ask(); !ok || got.Kind != waits.Monitor || got.Owner != 0 || !got.Later {
		t.Errorf("before a reading: %+v, %v", got, ok)
	}
	w.readOn()
	if got, ok := w.ask(); !ok || got.Owner != 1000+now || got.Later {
		t.Errorf("after a reading: %+v, %v", got, ok)
	}
}

func TestOwnerOfSeveralMonitorsIsFoundWithoutAReading(t *testing.T) {
	w, monitors := ownersRead(t)
	const owner, other = 7, 9
	w.enter(monitors[owner])
	w.ask()
	w.put32(w.threadOf(owner)+80, 104)
	w.put(w.threadOf(owner)+96, w.objectOf(monitors[other]))
	w.put32(w.threadOf(other)+80, 88)
	w.enter(monitors[other])
	if got, ok := w.ask(); !ok || got.Owner != 1000+owner || got.Later {
		t.Errorf("%+v, %v", got, ok)
	}
}

func TestOwnerInMovedObjectIsFoundByItsMonitor(t *testing.T) {
	w, monitors := ownersRead(t)
	const moved, reused = 7, 9
	to := w.take(16)
	from := w.objectOf(monitors[moved])
	w.put(w.word(monitors[moved]+8), to)
	w.put(to, monitors[moved]|markMonitorValue)
	w.put(w.threadOf(moved)+88, to)
	// the address now has the other's object
	w.put(w.word(monitors[reused]+8), from)
	w.put(from, monitors[reused]|markMonitorValue)
	w.put(w.threadOf(reused)+88, from)
	for _, i := range []int{moved, reused} {
		w.enter(monitors[i])
		if got, ok := w.ask(); !ok || got.Owner != 1000+i || got.Later {
			t.Errorf("%d: %+v, %v", i, got, ok)
		}
	}
}

func TestThreadsOfCoreAreReadOnceAsAWhole(t *testing.T) {
	w := newWaiting(t, "JDK 25")
	monitors := w.listMany(true)
	const unlocked = 7
	w.put32(w.threadOf(unlocked)+80, 88)
	for i, monitor := range monitors[:20] {
		w.enter(monitor)
		got, ok := w.n.waiting(&managed.WaitQuery{InnerTID: fakeTID, Live: sleepingIn{w, true}, Still: true})
		if want := map[bool]int{false: 1000 + i}[i == unlocked]; !ok || got.Owner != want || got.Later {
			t.Errorf("%d: %+v, %v", i, got, ok)
		}
	}
}
