// SPDX-License-Identifier: Apache-2.0

package aggregator

import (
	"testing"
	"time"
)

func TestEpochIsExactWhenReadingItIsDelayed(t *testing.T) {
	calls := 0
	held := func() int64 {
		calls++
		at := int64(calls/2) * 10
		if calls%2 == 0 && calls != 14 {
			at += 1e9
		}
		return at
	}
	before := time.Now().UnixNano()
	got := monotonicEpoch(held)
	if after := time.Now().UnixNano(); got < before-1000 || got > after {
		t.Errorf("%d ns before the real time or %d after it, want at most 1000 before", before-got, got-after)
	}
}

func TestUnixTimeIncludesSuspension(t *testing.T) {
	u := unixTime{epoch: 1000, slept: []wakeUp{{at: 50, length: 7}, {at: 90, length: 20}}}
	for at, want := range map[int64]int64{10: 1010, 50: 1050, 51: 1058, 90: 1097, 91: 1118} {
		if got := u.Of(at); got != want {
			t.Errorf("monotonic %d is %d in Unix time, want %d", at, got, want)
		}
	}
}
