// SPDX-License-Identifier: Apache-2.0

package accountant

import "time"

// unixTime translates moments of CLOCK_MONOTONIC into Unix time, which goes on while the machine is suspended.
type unixTime struct {
	epoch int64 // Unix time less CLOCK_MONOTONIC at the beginning, ns
	slept []wakeUp
}

// wakeUp is the end of a suspension of the machine, CLOCK_MONOTONIC ns, and its length.
type wakeUp struct{ at, length int64 }

// newUnixTime reads both clocks; now is CLOCK_MONOTONIC in nanoseconds.
func newUnixTime(now func() int64) unixTime { return unixTime{epoch: monotonicEpoch(now)} }

// Resumed takes note that the machine was suspended for that length until a moment. What was booked before has the
// Unix time of before.
func (u *unixTime) Resumed(at, length int64) { u.slept = append(u.slept, wakeUp{at, length}) }

// Of gives a moment of CLOCK_MONOTONIC in Unix time, both in nanoseconds.
func (u *unixTime) Of(at int64) int64 {
	unix := at + u.epoch
	for i := range u.slept {
		if s := &u.slept[i]; at > s.at {
			unix += s.length
		}
	}
	return unix
}

// epochTries is how often the two clocks are read for monotonicEpoch.
const epochTries = 20

// monotonicEpoch gives the difference between Unix time and CLOCK_MONOTONIC. Whoever reads the one and then the other
// may lose its processor in between, for seconds on a busy machine. The reading that took the shortest is the best.
func monotonicEpoch(now func() int64) (epoch int64) {
	shortest := int64(1 << 62)
	for range epochTries {
		before := now()
		unix := time.Now().UnixNano()
		if took := now() - before; took < shortest {
			shortest, epoch = took, unix-before-took/2
		}
	}
	return epoch
}
