// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"testing"
	"time"

	"prywalk/ptrace"
)

func TestTicksKeepTheirRateAndOrder(t *testing.T) {
	s := newTicks(1000, 1000)
	last, now := ptrace.Moment(0), ptrace.Moment(1000)
	for range 10000 {
		at := s.next(now)
		if at <= last {
			t.Fatalf("tick at %d after one at %d", at, last)
		}
		last, now = at, max(now, at)
	}
	// The standard deviation of a distance is 1/2/√12 of the period, of 10,000 some 14.4 periods. Five of them.
	if want := ptrace.Moment(1000 + 10000*1e6); last < want.Add(-72e6) || last > want.Add(72e6) {
		t.Fatalf("tick 10,000 at %d, want %d ± 72 periods", last, want)
	}
	if s.missed != 0 {
		t.Fatalf("%d missed", s.missed)
	}
}

// A target that repeats itself k times in a period is sampled equally often in each quarter of its time. Ticks are not
// independent here: at k = 1 their phase needs some five ticks to change. Bound: five standard deviations.
func TestTicksDoNotKeepStepWithPeriodicWork(t *testing.T) {
	const n = 100000
	for _, k := range []int64{1, 2, 3, 12} {
		s := newTicks(1000, 100)
		var hits [4]int
		for at, repeat := ptrace.Moment(1000), s.period/time.Duration(k); hits[0]+hits[1]+hits[2]+hits[3] < n; {
			at = s.next(at)
			hits[int64(time.Duration(at%ptrace.Moment(repeat))*4/repeat)]++
		}
		for i, m := range hits {
			if m < n/4-n/50 || m > n/4+n/50 {
				t.Errorf("work of 1/%d of the period: quarter %d has %d ticks of %d", k, i, m, n)
			}
		}
	}
}

func TestTicksMissedAreCountedAndNotCaughtUp(t *testing.T) {
	s := newTicks(0, 100)
	now := s.next(0)
	now = now.Add(100e6)
	at := s.next(now)
	if at < now.Add(-10e6) || s.missed < 8 || s.missed > 10 {
		t.Fatalf("next tick %d after %d, %d missed", at, now, s.missed)
	}
}

func TestTicksMissedBeforeAChangeOfTheRateAreCounted(t *testing.T) {
	s := newTicks(0, 100)
	now := s.next(0).Add(100e6)
	s.setRate(now, 99)
	if at := s.next(now); at < now || s.missed != 9 {
		t.Errorf("next tick at %d, now %d, %d missed; want a later one, and 9", at, now, s.missed)
	}
	now = s.next(now)
	s.setRate(now.Add(5e6), 50)
	if s.missed != 9 {
		t.Errorf("%d missed; want none for a tick that is late by half a period", s.missed-9)
	}
}
