// SPDX-License-Identifier: Apache-2.0

package pace

import "math/rand/v2"

// Times and costs are in nanoseconds.
const (
	maxBackoff = 120e6 // mean, before the factor
	// While the process's clock stands still, back-offs are prolonged to about this age of the observation; those of
	// maxFactor are longer.
	prolongedUpTo = 1e9

	sleepShare  = 16 // a back-off is at most 1/16 of the thread's sleep so far
	notRunShare = 1  // the same before its first run, with kernel samples and manyThreads
	manyThreads = 80

	pollCost    = 1000 // of one observation of an unchanged thread
	pollShare   = 256  // these observations take 1/256 of the time, if that needs two ticks to maxBackoff between them
	searchShare = 64   // the same for searches of backed-off threads that have run

	burstShare  = 1000 // back-offs grow while backed-off threads use at most 1/1000 of the process's CPU time
	maxFactor   = 16   // by which back-offs grow at most
	smallFactor = 8    // maxFactor with fewer than 469 threads
	clockError  = 4e6  // of a process's clock for each running thread: a scheduler tick
)

// backoffLength returns the back-off of a thread found unchanged, ns; 0: none:
//
//	min(asleep / share, factor × min(maxBackoff, cost of observing all threads × pollShare)) ± 25 %
//
// asleep is the length of its sleep, period the mean distance of ticks, ns; share is [sleepShare] or [notRunShare].
func backoffLength(asleep, period int64, threads int, factor, share int64, rng *rand.Rand) int64 {
	unscaled := pollingBackoff(threads)
	if unscaled < maxBackoff { // few are cheap to observe
		factor = min(factor, smallFactor)
	}
	length := min(asleep/share, factor*unscaled)
	if length < 2*period {
		return 0
	}
	return randomized(length, rng)
}

// prolongationLength returns by how much a back-off is prolonged while the process's clock stands still, ns.
func prolongationLength(threads int, rng *rand.Rand) int64 {
	return randomized(pollingBackoff(threads), rng)
}

// pollingBackoff returns the mean back-off, ns, before the factor, with which observations of all threads take
// 1/pollShare of the time; at most maxBackoff.
func pollingBackoff(threads int) int64 { return min(maxBackoff, int64(threads)*pollCost*pollShare) }

// randomized returns length ± 25 %.
func randomized(length int64, rng *rand.Rand) int64 { return length - length/4 + rng.Int64N(length/2) }

const (
	// decideEvery is the time between decisions about the factor, ns.
	decideEvery = 1e9
	// Sums fade by 1/factorDecay per decision, so that threads that wake twice a minute count.
	factorDecay = 32
)

// backoffFactor lengthens back-offs by the part of the process's CPU time that backed-off threads used.
type backoffFactor struct {
	extraFactor     int64
	decidedAt       int64  // CLOCK_MONOTONIC ns
	clockAtDecision uint64 // of the process, ns
	ran             int64  // recent CPU time of the process, ns
	backedOffCPU    int64  // part of ran that backed-off threads used, ns
}

func (f *backoffFactor) factor() int64 { return f.extraFactor + 1 }

func (f *backoffFactor) update(now int64, clock uint64) {
	if now-f.decidedAt < decideEvery {
		return
	}
	if f.decidedAt != 0 {
		f.ran += int64(clock - f.clockAtDecision)
	}
	f.decidedAt, f.clockAtDecision = now, clock
	switch {
	case f.backedOffCPU*burstShare > f.ran:
		f.extraFactor = 0
	case f.ran > 0: // else the clock's standstill prolongs back-offs
		f.extraFactor = min(2*f.extraFactor+1, maxFactor-1)
	}
	f.fade()
}

// fade ends both sums at once: of small ones the quotient would not be that of the times.
func (f *backoffFactor) fade() {
	f.ran -= f.ran / factorDecay
	f.backedOffCPU -= f.backedOffCPU / factorDecay
	if f.ran < burstShare*factorDecay {
		f.ran, f.backedOffCPU = 0, 0
	}
}

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
