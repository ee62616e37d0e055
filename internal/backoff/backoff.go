// SPDX-License-Identifier: Apache-2.0

package backoff

import "math/rand/v2"

const (
	sleepShare = 16
	// firstShare replaces sleepShare for a thread that has not run since it was attached, if the kernel samples it and
	// there are at least crowd threads.
	firstShare  = 1
	manyThreads = 80
	sampleShare = 256
	// longestBackoff is the longest mean back-off, idleMost the longest in a process in which no thread runs, in
	// nanoseconds.
	longestBackoff = 120e6
	idleMost       = 1e9
	// sampleCost is the cost of observing an unchanged thread, ns.
	sampleCost  = 1000
	searchShare = 64
	// Back-offs grow while backed-off threads use at most one part in burstShare of a process's CPU time: to maxStretch
	// times as long, or fewStretch with fewer than 470 threads.
	burstShare = 1000
	maxStretch = 16
	fewStretch = 8
	// staleClock is the error of a process's clock for each running thread, in nanoseconds: a scheduler tick.
	clockError = 4e6
)

// backoffFor gives the back-off of a thread found unchanged, in nanoseconds; 0: it is observed in the next tick. crowd
// is the number of all threads, stretch the factor, share [sleepShare] or [firstShare].
func backoffFor(asleep, period int64, threads int, stretch, share int64, rng *rand.Rand) int64 {
	crowd := int64(threads) * sampleCost * sampleShare
	if crowd < longestBackoff { // few are cheap to observe
		stretch = min(stretch, fewStretch)
	}
	length := min(asleep/share, stretch*min(longestBackoff, crowd))
	if length < 2*period {
		return 0
	}
	return length - length/4 + rng.Int64N(length/2)
}
