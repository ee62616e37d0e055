// SPDX-License-Identifier: Apache-2.0

package procmem

import (
	"testing"

	"golang.org/x/sys/unix"
)

func TestNowIsTheKernelsMonotonicClock(t *testing.T) {
	for range 1000 {
		before, e := clock(unix.CLOCK_MONOTONIC)
		now := Now()
		after, _ := clock(unix.CLOCK_MONOTONIC)
		if e != 0 || now < int64(before) || now > int64(after) {
			t.Fatalf("Now is %d, want %d to %d (errno %v)", now, before, after, e)
		}
	}
}

func TestNowMakesNoSystemCall(t *testing.T) {
	calls := Calls()
	if Now() == 0 || Calls() != calls {
		t.Errorf("%d system calls, want 0", Calls()-calls)
	}
}

func BenchmarkNow(b *testing.B) {
	for b.Loop() {
		Now()
	}
}
