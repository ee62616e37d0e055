// SPDX-License-Identifier: Apache-2.0

package idle

import "math/rand/v2"

const (
	sleepShare = 16
	// firstShare is that for a thread which has not run since it was met, if the kernel samples it when it does, in a
	// crowd of so many.
	firstShare = 1
	crowded    = 80
	lookShare  = 256
	// longestBackoff is the longest that a thread is left alone for on average, and
	// idleMost the longest in a process in which nobody runs, in nanoseconds.
	longestBackoff = 120e6
	idleMost       = 1e9
	// A look at a thread that has not changed takes about lookCost ns.
	lookCost     = 1000
	wakeAllShare = 64
	// Backoffs get longer while no more than one part in burstShare of a process's time is that of threads that were
	// backed off. They become up to maxStretch times as long, or fewStretch in crowds of fewer than 470.
	burstShare = 1000
	maxStretch = 16
	fewStretch = 8
	// staleClock is by how much the clock of a process may lack the time of each
	// thread that runs, in nanoseconds: a scheduler tick.
	staleClock = 4e6
)

// backoffFor gives for how long a thread that was found unchanged is left alone, in nanoseconds. It is 0 if the
// thread is to be looked at in the next tick. There are so many threads in all; it may be stretch times as long as at
// first. The share is [sleepShare] or [firstShare].
func backoffFor(asleep, period int64, threads int, stretch, share int64, rng *rand.Rand) int64 {
	crowd := int64(threads) * lookCost * lookShare
	if crowd < longestBackoff { // few are cheap to look at
		stretch = min(stretch, fewStretch)
	}
	length := min(asleep/share, stretch*min(longestBackoff, crowd))
	if length < 2*period {
		return 0
	}
	return length - length/4 + rng.Int64N(length/2)
}
