// SPDX-License-Identifier: Apache-2.0

package main

import (
	"math"
	"time"

	"golang.org/x/sys/unix"
)

// cpuTime gives the processor time that the calling OS thread has used. The goroutine must be locked to it. What else
// runs on the machine delays a walk, but is not counted; the peers are timed by the same clock.
func cpuTime() time.Duration {
	var ts unix.Timespec
	if unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts) != nil {
		return 0
	}
	return time.Duration(ts.Nano())
}

// clockCost gives what is measured when nothing happens between two readings: it is taken off short measurements.
func clockCost() time.Duration {
	least := time.Duration(math.MaxInt64)
	for range 1000 {
		begin := cpuTime()
		least = min(least, cpuTime()-begin)
	}
	return least
}
