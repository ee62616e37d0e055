// SPDX-License-Identifier: Apache-2.0

package statistics

import (
	"math"
	"testing"
)

// The tails are summed again, from the other side of each bound.
func TestBinomialRangeIsTheSmallestWithItsErrorRate(t *testing.T) {
	for _, n := range []int{0, 1, 7, 100, 3000} {
		for _, p := range []float64{0, 0.001, 0.03, 0.5, 0.97, 1} {
			for _, rate := range []float64{ErrorRate, 1e-3, 0.2} {
				low, high := BinomialRange(n, p, rate)
				below, above := 0.0, 0.0
				for k := range n + 1 {
					switch {
					case k < low:
						below += binomial(n, k, p)
					case k > high:
						above += binomial(n, k, p)
					}
				}
				if below > rate/2 || above > rate/2 {
					t.Errorf("n %d, p %v, rate %v: outside of %d to %d are %v and %v", n, p, rate, low, high, below, above)
				}
				if low < high && (below+binomial(n, low, p) <= rate/2 || above+binomial(n, high, p) <= rate/2) {
					t.Errorf("n %d, p %v, rate %v: %d to %d is not the smallest range", n, p, rate, low, high)
				}
			}
		}
	}
}

func TestBinomialProbabilitiesAreThoseOfTheDistribution(t *testing.T) {
	sum := 0.0
	for k := range 11 {
		sum += binomial(10, k, 0.3)
	}
	// 45 × 0.3² × 0.7⁸
	if got := binomial(10, 2, 0.3); math.Abs(got-0.2334744405) > 1e-9 || math.Abs(sum-1) > 1e-12 {
		t.Errorf("2 of 10: %v, all: %v", got, sum)
	}
}

func TestHoeffdingsBoundIsWiderThanTheBinomialOne(t *testing.T) {
	for _, n := range []int{10, 1000, 100000} {
		_, high := BinomialRange(n, 0.5, ErrorRate)
		got := HoeffdingDistance(n, ErrorRate)
		if want := float64(high)/float64(n) - 0.5; got < want-1e-9 || got > 1 {
			t.Errorf("%d values: %v, binomial %v", n, got, want)
		}
	}
	if HoeffdingDistance(0, ErrorRate) != 1 {
		t.Error("no values have a bound")
	}
}
