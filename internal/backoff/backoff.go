// SPDX-License-Identifier: Apache-2.0

package backoff

import "math/rand/v2"

// Times and costs are in nanoseconds.
const (
	longestBackoff = 120e6 // mean, before it is stretched
	idleMost       = 1e9   // the same in a process in which no thread runs
	// A back-off is at most one part in sleepShare of the thread's sleep so far; with kernel samples and manyThreads
	// one in notRunShare for a thread that has not run since its first observation.
	sleepShare  = 16
	notRunShare = 1
	manyThreads = 80
	// Observations of unchanged threads, of sampleCost each, take at most one part in sampleShare of the time, searches
	// of backed-off threads that have run one in searchShare.
	sampleCost  = 1000
	sampleShare = 256
	searchShare = 64
	// While backed-off threads use at most one part in burstShare of a process's CPU time, back-offs grow by a factor
	// of up to maxStretch, or fewStretch with fewer than 470 threads.
	burstShare = 1000
	maxStretch = 16
	fewStretch = 8
	clockError = 4e6 // of a process's clock for each running thread: a scheduler tick
)

// backoffLength returns the back-off of a thread found unchanged, in ns; 0 means none:
//
//	min(asleep / share, stretch × min(longestBackoff, cost of observing all threads × sampleShare)) ± 25 %
//
// asleep is the length of its sleep, period the mean distance of ticks, in ns; share is [sleepShare] or [notRunShare].
func backoffLength(asleep, period int64, threads int, stretch, share int64, rng *rand.Rand) int64 {
	cost := int64(threads) * sampleCost * sampleShare
	if cost < longestBackoff { // few are cheap to observe
		stretch = min(stretch, fewStretch)
	}
	length := min(asleep/share, stretch*min(longestBackoff, cost))
	if length < 2*period {
		return 0
	}
	return length - length/4 + rng.Int64N(length/2)
}
