// SPDX-License-Identifier: Apache-2.0

package pace

import "testing"

func (f *backoffFactor) seconds(n int, now, clock *int64, ran, bursts int64) {
	for range n {
		*now += 1e9
		*clock += ran
		f.backedOffCPU += bursts
		f.update(*now, uint64(*clock))
	}
}

func TestBackoffsGetLongerOnlyWhereNoThreadRunsInThem(t *testing.T) {
	var s backoffFactor
	now, clock := int64(7e12), int64(5e9)
	if s.seconds(1, &now, &clock, 0, 0); s.factor() != 1 {
		t.Errorf("at first: %d times", s.factor())
	}
	if s.seconds(20, &now, &clock, 0, 0); s.factor() != 1 {
		t.Errorf("no thread runs, as the process's clock shows: factor %d", s.factor())
	}
	for i, want := range []int64{2, 4, 8, 16, 16} {
		if s.seconds(1, &now, &clock, 1e9, 0.5e6); s.factor() != want {
			t.Errorf("%d s later: %d times, want %d", i+1, s.factor(), want)
		}
	}
	if s.seconds(1, &now, &clock, 1e9, 300e6); s.factor() != 1 {
		t.Errorf("a thread ran for 300 ms while it was backed off: %d times", s.factor())
	}
	if s.seconds(20, &now, &clock, 1e9, 0); s.factor() != 1 {
		t.Errorf("20 s later it is still more than one part in 1,000: %d times", s.factor())
	}
	if s.seconds(100, &now, &clock, 1e9, 0); s.factor() != maxFactor {
		t.Errorf("120 s later: %d times", s.factor())
	}
}

func TestFactorStaysWhereAProcessNoLongerRuns(t *testing.T) {
	for bursts, want := range map[int64]int64{0: maxFactor, 0.5e6: maxFactor, 2e6: 1, 10e6: 1, 300e6: 1} {
		var s backoffFactor
		now, clock := int64(7e12), int64(5e9)
		s.seconds(100, &now, &clock, 1e9, bursts)
		for i := range 2000 {
			if s.seconds(1, &now, &clock, 0, 0); s.factor() != want {
				t.Errorf("bursts of %d ns, and no CPU time for %d s: factor %d, want %d", bursts, i+1, s.factor(), want)
				break
			}
		}
		if s.ran != 0 || s.backedOffCPU != 0 {
			t.Errorf("bursts of %d ns: sums %d and %d ns, want 0 and 0", bursts, s.ran, s.backedOffCPU)
		}
	}
}

func TestBackoffsAreDecidedOnceASecond(t *testing.T) {
	var s backoffFactor
	s.update(1e9, 0)
	for at := int64(1); at < 10; at++ {
		s.update(1e9+at*1e8, uint64(at*1e8))
	}
	if s.factor() != 1 {
		t.Errorf("within the first second: %d times", s.factor())
	}
	if s.update(2e9, 1e9); s.factor() != 2 {
		t.Errorf("after it: %d times", s.factor())
	}
}
