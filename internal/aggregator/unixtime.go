// SPDX-License-Identifier: Apache-2.0

package aggregator

import "prywalk/internal/procmem"

type unixTime struct {
	epoch int64 // Unix time less CLOCK_MONOTONIC at the start, ns
	slept []wakeUp
}

type wakeUp struct{ at, length int64 }

func newUnixTime() unixTime { return unixTime{epoch: procmem.UnixAhead(procmem.Now, 20)} }

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
