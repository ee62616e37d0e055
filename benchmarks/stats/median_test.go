// SPDX-License-Identifier: Apache-2.0

package stats

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func TestTheMedianIsInTheMiddle(t *testing.T) {
	xs := []float64{40, 10, 31, 20}
	near(t, "median of four", Median(xs), 25.5, 1e-9)
	near(t, "median of three", Median(xs[:3]), 31, 0)
	near(t, "median of none", Median(nil), 0, 0)
	if !slices.Equal(xs, []float64{40, 10, 31, 20}) {
		t.Error("the values were reordered")
	}
}

// The percentile bootstrap of a median is known to be a little off for small samples.
func TestTheIntervalHoldsTheTrueMedian(t *testing.T) {
	const rounds = 60
	rng := rand.New(rand.NewPCG(3, 4))
	held := 0
	for range rounds {
		xs := make([]float64, 21)
		for i := range xs {
			xs[i] = rng.NormFloat64()
		}
		if low, high := MedianInterval(xs); low <= 0 && 0 <= high && low < high {
			held++
		}
	}
	if held < rounds*85/100 {
		t.Errorf("the interval holds the median in %d of %d", held, rounds)
	}
	if low, high := MedianInterval([]float64{2, 2, 2}); low != 2 || high != 2 {
		t.Errorf("of three equal values it is %v to %v", low, high)
	}
	if low, high := MedianInterval(nil); low != 0 || high != 0 {
		t.Errorf("of none it is %v to %v", low, high)
	}
}
