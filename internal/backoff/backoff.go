// SPDX-License-Identifier: Apache-2.0

package backoff

import "math/rand/v2"

// Times and costs are in nanoseconds.
const (
	maxBackoff     = 120e6 // mean, before the factor
	maxIdleBackoff = 1e9   // the same in a process in which no thread runs
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
	// of up to maxFactor, or smallFactor with fewer than 470 threads.
	burstShare  = 1000
	maxFactor   = 16
	smallFactor = 8
	clockError  = 4e6 // of a process's clock for each running thread: a scheduler tick
)

// backoffLength returns the back-off of a thread found unchanged, in ns; 0 means none:
//
//	min(asleep / share, factor × min(maxBackoff, cost of observing all threads × sampleShare)) ± 25 %
//
// asleep is the length of its sleep, period the mean distance of ticks, in ns; share is [sleepShare] or [notRunShare].
func backoffLength(asleep, period int64, threads int, factor, share int64, rng *rand.Rand) int64 {
	cost := int64(threads) * sampleCost * sampleShare
	if cost < maxBackoff { // few are cheap to observe
		factor = min(factor, smallFactor)
	}
	length := min(asleep/share, factor*min(maxBackoff, cost))
	if length < 2*period {
		return 0
	}
	return length - length/4 + rng.Int64N(length/2)
}
