// SPDX-License-Identifier: Apache-2.0

package aggregator

import (
	"testing"

	"prywalk/ptrace"
)

func TestUnixTimeIncludesSuspension(t *testing.T) {
	u := unixTime{epoch: 1000, slept: []wakeUp{{at: 50, length: 7}, {at: 90, length: 20}}}
	for at, want := range map[ptrace.Moment]int64{10: 1010, 50: 1050, 51: 1058, 90: 1097, 91: 1118} {
		if got := u.Of(at); got != want {
			t.Errorf("monotonic %d is %d in Unix time, want %d", at, got, want)
		}
	}
}
