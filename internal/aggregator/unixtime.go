// SPDX-License-Identifier: Apache-2.0

package aggregator

import "time"

type unixTime struct {
	epoch int64 // Unix time less CLOCK_MONOTONIC at the start, ns
	slept []wakeUp
}

type wakeUp struct{ at, length int64 }

func newUnixTime(now func() int64) unixTime { return unixTime{epoch: monotonicEpoch(now)} }

// Resumed notes a suspension of length ns until at; earlier moments keep their Unix time.
func (u *unixTime) Resumed(at, length int64) { u.slept = append(u.slept, wakeUp{at, length}) }

// Of converts CLOCK_MONOTONIC to Unix time, ns.
func (u *unixTime) Of(at int64) int64 {
	unix := at + u.epoch
	for i := range u.slept {
		if s := &u.slept[i]; at > s.at {
			unix += s.length
		}
	}
	return unix
}

const epochTries = 20

// monotonicEpoch takes the shortest of several readings: preemption can take seconds.
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
