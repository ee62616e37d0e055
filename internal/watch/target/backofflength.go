// SPDX-License-Identifier: Apache-2.0

package target

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
type timingWheel struct {
	slots [wheelSlots]*Thread
	now   int64 // slots up to this one are empty; from CLOCK_MONOTONIC 0
}

// put adds a thread whose back-off ends at CLOCK_MONOTONIC end, ns.
func (w *timingWheel) put(th *Thread, end int64) {
	b := &th.backoff
	at := min(max(end/slotLength, w.now+1), w.now+wheelSlots-1)
	slot := int(at % wheelSlots)
	b.slot = slot
	b.prev = nil
	b.next = w.slots[slot]
	b.inWheel = true
	if b.next != nil {
		b.next.backoff.prev = th
	}
	w.slots[slot] = th
}

func (w *timingWheel) remove(th *Thread) {
	b := &th.backoff
	if b.prev != nil {
		b.prev.backoff.next = b.next
	} else {
		w.slots[b.slot] = b.next
	}
	if b.next != nil {
		b.next.backoff.prev = b.prev
	}
	b.prev = nil
	b.next = nil
	b.inWheel = false
}

// advance passes each thread whose back-off has ended to expired, which may put it back.
func (w *timingWheel) advance(now int64, expired func(*Thread)) {
	to := now / slotLength
	var list *Thread
	for at := max(w.now+1, to-wheelSlots+1); at <= to; at++ {
		for th := w.slots[at%wheelSlots]; th != nil; th = w.slots[at%wheelSlots] {
			w.remove(th)
			th.backoff.next, list = list, th
		}
	}
	w.now = max(w.now, to)
	for list != nil {
		th := list
		list, th.backoff.next = th.backoff.next, nil
		expired(th)
	}
}
