// SPDX-License-Identifier: Apache-2.0

package schedule

import "testing"

// Clocks are read every 8 ms, and lag by up to 4 ms.
func TestThreadThatRunsOnIsSteady(t *testing.T) {
	const step = 8e6
	for name, c := range map[string]struct {
		cpu, queued int64 // in each step
		want        bool
	}{
		"it computes":                    {step, 0, true},
		"and waits for a CPU":            {step / 2, step / 2, true},
		"and sleeps a little":            {step - step/20, 0, true},
		"and sleeps":                     {step - step/5, 0, false},
		"it runs now and then":           {step / 10, 0, false},
		"its clocks are not kept at all": {0, 0, false},
	} {
		var s SteadyDetector
		now := Clocks{Wall: 1e9}
		for i := range int64(100) {
			at := now
			if c.cpu > 4e6 {
				at.CPU = max(at.CPU-i%3*2e6, 0)
			}
			s.NoteRunning(at)
			if wall := now.Wall - 1e9; s.IsSteady() && wall < SteadyFor {
				t.Errorf("%s: steady after %d ns", name, wall)
			}
			now.Wall, now.CPU, now.RunQueue = now.Wall+step, now.CPU+c.cpu, now.RunQueue+c.queued
		}
		if s.IsSteady() != c.want {
			t.Errorf("%s: %v", name, s.IsSteady())
		}
		now.Wall += 2 * SteadyFor
		if s.NoteRunning(now); s.IsSteady() {
			t.Errorf("%s: it slept, and is steady", name)
		}
	}
}

func TestThreadThatWaitsForACPUIsSteady(t *testing.T) {
	var s SteadyDetector
	now := Clocks{Wall: 1e9}
	for range 100 {
		for range 5 {
			s.NoteRunning(now)
			now.Wall, now.CPU = now.Wall+10e6, now.CPU+10e6
		}
		for range 4 {
			s.NoteRunning(now)
			now.Wall += 10e6
		}
		now.RunQueue += 40e6
		if wall := now.Wall - 1e9; wall > 2*SteadyFor && !s.IsSteady() {
			t.Fatalf("not steady after %d ns", wall)
		}
	}
}

// At most 10 ms or ten periods.
func TestSkippedTicksAreCountedAndNotMissed(t *testing.T) {
	for freq, most := range map[float64]int64{99: 0, 150: 0, 250: 1, 499: 3, 1000: 9, 5000: 9} {
		s, r := NewTicks(0, freq), TickSkipper{}
		period := s.Period()
		at, ticks := s.Next(0), int64(1)
		for range 1000 {
			next := s.Next(at)
			after, ok := s.Skip(&r, next, true)
			if ok != (most > 0) || after < next || (after-next)/period > most || (after-next)%period != 0 {
				t.Fatalf("%v Hz: %d after %d, %v", freq, after, next, ok)
			}
			if (after-at)-period/2 > maxDistance && most > 0 {
				t.Fatalf("%v Hz: %d ns without a tick", freq, after-at)
			}
			ticks += 1 + r.End(after-at, period)
			at = after
		}
		// Five standard deviations of 1,001 distances, see [Ticks].
		if s.Missed != 0 || ticks-at/period > 23 || ticks-at/period < -23 || r.Skipped != ticks-1001 {
			t.Errorf("%v Hz: %d missed, %d ticks in %d ns, %d skipped", freq, s.Missed, ticks, at, r.Skipped)
		}
	}
	s, r := NewTicks(0, 1000), TickSkipper{}
	s.Skip(&r, s.Next(0), true)
	if n := r.End(2e6, s.Period()); n != 1 {
		t.Errorf("%d skipped, and the run ended at the second one", n)
	}
	if n := r.End(9e6, s.Period()); n != 0 {
		t.Errorf("%d skipped after a tick that skipped none", n)
	}
}

func TestCheapTicksAreSkippedOnlyIfAllThreadsAreSteady(t *testing.T) {
	s, r := NewTicks(0, 1000), TickSkipper{}
	for range 100 {
		next := s.Next(0)
		if after, ok := s.Skip(&r, next, false); ok || after != next || r.toSkip != 0 {
			t.Fatalf("%d ticks are skipped, %t", r.toSkip, ok)
		}
	}
	if _, ok := s.Skip(&r, s.Next(0), true); !ok {
		t.Error("no tick is skipped though all threads are steady")
	}
}

func TestSkippingNeedsATimeWithoutNewThreads(t *testing.T) {
	var r TickSkipper
	if r.NoteThreadChange(5e9); r.MaySkip(5e9+newFor-1) || !r.MaySkip(5e9+newFor) {
		t.Error("it is a second")
	}
	r.NoteThreadChange(1e9)
	if r.MaySkip(5e9 + newFor - 1) {
		t.Error("it was created before that")
	}
}

// One hundredth, or more if 10 ms apart.
func TestCostlyTicksTakeTheirShareOfACPU(t *testing.T) {
	for _, c := range []struct {
		freq, cost float64
		share      float64
	}{
		{99, 1e5, 0.0099}, {250, 5e4, 0.01}, {499, 5e4, 0.0105}, {1000, 5e3, 0.005}, {1000, 3e4, 0.0105},
		{1000, 6e4, 0.0105}, {1000, 1e6, 0.16}, {5000, 1e4, 0.011},
	} {
		s, r := NewTicks(0, c.freq), TickSkipper{}
		at, used, n := s.Next(0), int64(1), 0.0
		begin := int64(0)
		for i := range 5000 {
			r.SetCPUTime(used)
			at, _ = s.Skip(&r, s.Next(at), false)
			used += int64(c.cost)
			if n++; i == 500 {
				begin, n = at, 0
			}
			if r.toSkip > 9 || r.toSkip > 0 && r.toSkip*s.Period() >= maxDistance {
				t.Fatalf("%v Hz, %v ns each: %d skipped", c.freq, c.cost, r.toSkip)
			}
			r.End(r.toSkip*s.Period()+s.Period(), s.Period())
		}
		if share := n * c.cost / float64(at-begin); share > c.share*1.05 || share < c.share*0.6 {
			t.Errorf("%v Hz, %v ns each: %.4f of a CPU, want %v at most", c.freq, c.cost, share, c.share)
		}
	}
}
