// SPDX-License-Identifier: Apache-2.0

package pace

// A slot has slotLength ns.
const (
	slotLength = 1e6
	wheelSlots = 4096
)

// timingWheel holds threads by the end of their back-off. It allocates nothing.
type timingWheel[T any] struct {
	slots [wheelSlots]*ThreadState[T]
	now   int64 // slots up to this one are empty; from CLOCK_MONOTONIC 0
}

// put adds a thread whose back-off ends at CLOCK_MONOTONIC end, ns.
func (w *timingWheel[T]) put(th *ThreadState[T], end int64) {
	at := min(max(end/slotLength, w.now+1), w.now+wheelSlots-1)
	slot := int(at % wheelSlots)
	th.slot = slot
	th.prev = nil
	th.next = w.slots[slot]
	th.inWheel = true
	if th.next != nil {
		th.next.prev = th
	}
	w.slots[slot] = th
}

func (w *timingWheel[T]) remove(th *ThreadState[T]) {
	if th.prev != nil {
		th.prev.next = th.next
	} else {
		w.slots[th.slot] = th.next
	}
	if th.next != nil {
		th.next.prev = th.prev
	}
	th.prev = nil
	th.next = nil
	th.inWheel = false
}

// advance passes each thread whose back-off has ended to expired, which may put it back.
func (w *timingWheel[T]) advance(now int64, expired func(*ThreadState[T])) {
	to := now / slotLength
	var list *ThreadState[T]
	for at := max(w.now+1, to-wheelSlots+1); at <= to; at++ {
		for th := w.slots[at%wheelSlots]; th != nil; th = w.slots[at%wheelSlots] {
			w.remove(th)
			th.next, list = list, th
		}
	}
	w.now = max(w.now, to)
	for list != nil {
		th := list
		list, th.next = th.next, nil
		expired(th)
	}
}
