// SPDX-License-Identifier: Apache-2.0

package hotspot

import (
	"testing"

	"prywalk/internal/waits"
)

const manyThreads = 5000

// listMany puts manyThreads threads more into the list: each owns its monitor, by number, by a word on its stack, or
// (lockStacks) with the object on its lock stack.
func (w *waiting) listMany(lockStacks bool) (monitors []uint64) {
	const threadSize, objectSize = 160, 16
	w.free = uint64(len(w.mem))
	w.mem = append(w.mem, make([]byte, (manyThreads+2)*8+manyThreads*(threadSize+32+objectSize+64+8)+64)...)
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
		if c.lockStacks {
			for i, name := range wantLockStack {
				w.n.vm.layout.fields[name] = field{offset: []uint64{80, 0, 8}[i], size: 8}
			}
		}
		monitors := w.listMany(c.lockStacks)
		read, reads := w.n.vm.host.Read, 0
		w.n.vm.readBy(func(addr uint64, b []byte) int {
			reads++
			return read(addr, b)
		})
		missed := 0
		for i, monitor := range monitors {
			w.put(w.thread+w.pending, monitor)
			if got, ok := w.ask(); !ok || got.Kind != waits.Monitor || got.Owner != 1000+i {
				missed++
			}
		}
		if missed > 0 {
			t.Errorf("%s: %d of %d owners are not found", name, missed, manyThreads)
		}
		if most := 100 * manyThreads; reads > most {
			t.Errorf("%s: %d reads for %d waits, want at most %d", name, reads, manyThreads, most)
		}
	}
}
