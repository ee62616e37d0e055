// SPDX-License-Identifier: Apache-2.0

package pace

import "math/rand/v2"

// Times and costs are in nanoseconds.
const (
	maxBackoff        = 120e6  // mean
	maxSampledBackoff = 1920e6 // with kernel samples, which show the bursts
	// While the process's clock stands still, back-offs are prolonged to about this age of the observation.
	prolongedUpTo = 1e9

	sleepShare = 16 // a back-off is at most 1/16 of the thread's sleep so far

	pollCost    = 1000 // of one observation of an unchanged thread
	pollShare   = 256  // these observations take 1/256 of the time, if that needs two ticks to maxBackoff between them
	searchShare = 64   // the same for searches of backed-off threads that have run

	clockError = 4e6 // of a process's clock for each running thread: a scheduler tick
)

// backoffLength returns the back-off of a thread found unchanged, ns; 0: none:
//
//	min(asleep / sleepShare, maxBackoff, cost of observing all threads × pollShare) ± 25 %
//
// asleep is the length of its sleep, period the mean distance of ticks, ns; sampled: the kernel samples the thread.
func backoffLength(asleep, period int64, threads int, sampled bool, rng *rand.Rand) int64 {
	most := int64(maxBackoff)
	if sampled {
		most = maxSampledBackoff
	}
	length := min(asleep/sleepShare, pollingBackoff(threads, most))
	if length < 2*period {
		return 0
	}
	return randomized(length, rng)
}

// pollingBackoff returns the mean back-off, ns, with which observations of all threads take 1/pollShare of the time; at
// most most.
func pollingBackoff(threads int, most int64) int64 {
	return min(most, int64(threads)*pollCost*pollShare)
}

// randomized returns length ± 25 %.
func randomized(length int64, rng *rand.Rand) int64 { return length - length/4 + rng.Int64N(length/2) }

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
