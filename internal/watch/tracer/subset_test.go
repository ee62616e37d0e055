// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// 20,000 ticks draw 5 of 37. Bound: six standard errors of 48.
func TestEachHasTheSameChanceToBeDrawn(t *testing.T) {
	const ticks, due, most = 20_000, 37, 5
	s := newSubset(most, 1)
	var drawn [due]int
	for range ticks {
		if w := s.begin(due, due); w != 37.0/5 {
			t.Fatalf("each stands for %v", w)
		}
		n := 0
		for i := range drawn {
			if s.draw() {
				drawn[i]++
				n++
			}
		}
		if n != most {
			t.Fatalf("%d drawn", n)
		}
	}
	p := float64(most) / due
	for i, n := range drawn {
		if math.Abs(float64(n)-ticks*p) > 6*math.Sqrt(ticks*p*(1-p)) {
			t.Errorf("the %d. was drawn %d times, want %.0f", i+1, n, ticks*p)
		}
	}
	if s.notDrawn != ticks*(due-most) {
		t.Errorf("%d not drawn", s.notDrawn)
	}
}

func TestAsManyAreDrawnAsMayBe(t *testing.T) {
	for _, c := range []struct {
		most, due, admitted, want int
	}{{0, 7, 7, 7}, {10, 7, 7, 7}, {3, 7, 7, 3}, {0, 100, 25, 25}, {3, 100, 25, 3}, {0, 100, 1, 1}, {5, 0, 0, 0}} {
		s, n := newSubset(c.most, 2), 0
		w := s.begin(c.due, c.admitted)
		for range c.due {
			if s.draw() {
				n++
			}
		}
		if n != c.want || n > 0 && w != float64(c.due)/float64(n) {
			t.Errorf("%+v: %d drawn, each stands for %v", c, n, w)
		}
	}
}

func TestBudgetSamplesAPartWhereTheRateWouldBeLow(t *testing.T) {
	const share, fixed, full = 0.01, 0.1e6, 40e6 // two CPUs: 20 ms a second
	p := newOverheadBudget(1000, share, 2)
	p.limitsOwn = true
	self, rng := time.Duration(0), rand.New(rand.NewPCG(3, 4))
	for range 2000 {
		p.updateRate(1e9)
		self += time.Duration((fixed + p.observedPart*full) * (0.9 + 0.2*rng.Float64()))
		p.recordTick(self, 1)
	}
	rate := p.updateRate(1e9)
	costs := rate * (fixed + p.observedPart*full)
	if p.observedPart >= 1 || rate < evenRate/2 || costs < 0.9*20e6 || costs > 1.1*20e6 {
		t.Errorf("%.3f of the threads %.1f times a second: %.1f ms of 20", p.observedPart, rate, costs/1e6)
	}
}
