// SPDX-License-Identifier: Apache-2.0

package backoff

// The wheel has a slot for each wheelGrain ns of the longest back-off.
const (
	wheelGrain = 1e6
	wheelSlots = 4096
)

// wheel holds backed-off threads by the end of their back-off, so that a tick touches only those that end. Threads are
// linked: it allocates nothing.
type wheel struct {
	slots    [wheelSlots]*Thread
	turnedTo int64 // slots up to this one are empty; counted from CLOCK_MONOTONIC 0
	count    int   // number of threads
}

// put adds a thread whose back-off ends at a time (CLOCK_MONOTONIC, ns), in the next call of turn at the earliest.
func (w *wheel) put(th *Thread, end int64) {
	at := min(max(end/wheelGrain, w.turnedTo+1), w.turnedTo+wheelSlots-1)
	slot := int(at % wheelSlots)
	th.slot = slot
	th.prev = nil
	th.next = w.slots[slot]
	th.inWheel = true
	if th.next != nil {
		th.next.prev = th
	}
	w.slots[slot] = th
	w.count++
}

func (w *wheel) remove(th *Thread) {
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
	w.count--
}

// turn removes all threads whose back-off ends until now, and passes each to expired, which may put it back.
func (w *wheel) turn(now int64, expired func(*Thread)) {
	to := now / wheelGrain
	var list *Thread
	for at := max(w.turnedTo+1, to-wheelSlots+1); at <= to; at++ {
		for th := w.slots[at%wheelSlots]; th != nil; th = w.slots[at%wheelSlots] {
			w.remove(th)
			th.next, list = list, th
		}
	}
	w.turnedTo = max(w.turnedTo, to)
	for list != nil {
		th := list
		list, th.next = th.next, nil
		expired(th)
	}
}
