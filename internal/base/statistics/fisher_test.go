// SPDX-License-Identifier: Apache-2.0

package statistics

import (
	"math"
	"testing"
)

func TestFishersTailsAreThoseOfTheDistribution(t *testing.T) {
	choose := func(n, k float64) float64 {
		a, _ := math.Lgamma(n + 1)
		b, _ := math.Lgamma(k + 1)
		c, _ := math.Lgamma(n - k + 1)
		return a - b - c
	}
	for _, samples := range [][2]float64{{8, 12}, {40, 3}, {3, 40}, {3000, 60}} {
		for _, odds := range []float64{1, 0.3, 7} {
			for sum := 0.0; sum <= 20 && sum <= samples[0]+samples[1]; sum++ {
				first, last := max(0, sum-samples[0]), min(sum, samples[1])
				var p []float64
				total := 0.0
				for x := first; x <= last; x++ {
					p = append(p, math.Exp(choose(samples[1], x)+choose(samples[0], sum-x)+x*math.Log(odds)))
					total += p[len(p)-1]
				}
				upTo := 0.0
				for i, v := range p {
					upTo += v
					want := min(1, 2*min(upTo, total-upTo+v)/total)
					x := first + float64(i)
					if got := FisherTail([2]float64{sum - x, x}, samples, odds); math.Abs(got-want) > 1e-9 {
						t.Errorf("%v and %v of %v, odds %v: %v, want %v", sum-x, x, samples, odds, got, want)
					}
				}
			}
		}
	}
}

// Fisher's tea, and a table of Wikipedia's page on the test.
func TestFishersTestGivesPublishedResults(t *testing.T) {
	for _, c := range []struct {
		counts, samples [2]float64
		want            float64
	}{
		{[2]float64{1, 3}, [2]float64{4, 4}, 2 * 0.242857}, {[2]float64{9, 1}, [2]float64{12, 12}, 2 * 0.001379728},
	} {
		if got := FisherTail(c.counts, c.samples, 1); math.Abs(got-c.want) > 1e-6 {
			t.Errorf("%v of %v: %v, want %v", c.counts, c.samples, got, c.want)
		}
	}
}

func TestLargeCountsHaveTheNormalTail(t *testing.T) {
	n := [2]float64{1e6, 4e5}
	for z := 0.5; z < 6; z += 0.5 {
		deviation := z * math.Sqrt(0.2*0.8*n[0]*n[1]/(n[0]+n[1]))
		got := FisherTail([2]float64{0.2*n[0] - deviation, 0.2*n[1] + deviation}, n, 1)
		if want := math.Erfc(z / math.Sqrt2); got < want/1.1 || got > want*1.1 {
			t.Errorf("%v standard errors: %v, want %v", z, got, want)
		}
	}
	if got := FisherTail([2]float64{0, 4e5}, n, 1); got != 0 {
		t.Errorf("all on one side: %v", got)
	}
}
