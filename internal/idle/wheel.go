// SPDX-License-Identifier: Apache-2.0

package idle

// The wheel has a slot for each wheelGrain ns of the longest backoff.
const (
	wheelGrain = 1e6
	wheelSlots = 4096
)

// wheel keeps the threads that are backed off by the time at which they fall due, so
// that a tick touches only those. It allocates nothing: the threads are linked.
type wheel struct {
	slots [wheelSlots]*Thread
	at    int64 // the slot up to which all were taken, as a number since the epoch
	n     int   // threads in it
}

// put files a thread that falls due at a moment, not before the next turn.
func (w *wheel) put(th *Thread, due int64) {
	at := min(max(due/wheelGrain, w.at+1), w.at+wheelSlots-1)
	slot := int(at % wheelSlots)
	th.slot, th.prev, th.next, th.filed = slot, nil, w.slots[slot], true
	if th.next != nil {
		th.next.prev = th
	}
	w.slots[slot] = th
	w.n++
}

// remove takes a thread out.
func (w *wheel) remove(th *Thread) {
	if th.prev != nil {
		th.prev.next = th.next
	} else {
		w.slots[th.slot] = th.next
	}
	if th.next != nil {
		th.next.prev = th.prev
	}
	th.prev, th.next, th.filed = nil, nil, false
	w.n--
}

// turn takes out all that fall due until now, and gives each to due, which may file
// it again.
func (w *wheel) turn(now int64, due func(*Thread)) {
	to := now / wheelGrain
	var list *Thread
	for at := max(w.at+1, to-wheelSlots+1); at <= to; at++ {
		for th := w.slots[at%wheelSlots]; th != nil; th = w.slots[at%wheelSlots] {
			w.remove(th)
			th.next, list = list, th
		}
	}
	w.at = max(w.at, to)
	for list != nil {
		th := list
		list, th.next = th.next, nil
		due(th)
	}
}
