// SPDX-License-Identifier: Apache-2.0

package schedule

import "testing"

func TestTicksKeepTheirRateAndOrder(t *testing.T) {
	s := NewTicks(1000, 1000)
	last, now := int64(0), int64(1000)
	for range 10000 {
		at := s.Next(now)
		if at <= last {
			t.Fatalf("tick at %d after one at %d", at, last)
		}
		last, now = at, max(now, at)
	}
	if want := int64(1000 + 10000*1e6); last < want-1e6/4 || last > want+1e6/4 {
		t.Fatalf("tick 10,000 at %d, want %d within a quarter of a period", last, want)
	}
	if s.Missed != 0 {
		t.Fatalf("%d missed", s.Missed)
	}
}

func TestTicksMissedAreCountedAndNotCaughtUp(t *testing.T) {
	s := NewTicks(0, 100)
	now := s.Next(0)
	now += 100e6
	at := s.Next(now)
	if at < now-10e6 || s.Missed < 8 || s.Missed > 10 {
		t.Fatalf("next tick %d after %d, %d missed", at, now, s.Missed)
	}
}
