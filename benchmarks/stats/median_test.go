// SPDX-License-Identifier: Apache-2.0

package stats

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func TestTheMedianIsInTheMiddle(t *testing.T) {
	xs := []float64{40, 10, 31, 20}
	if m := Median(xs); m != 25.5 {
		t.Errorf("of four: %v", m)
	}
	if m := Median(xs[:3]); m != 31 {
		t.Errorf("of three: %v", m)
	}
	if m := Median(nil); m != 0 {
		t.Errorf("of none: %v", m)
	}
	if !slices.Equal(xs, []float64{40, 10, 31, 20}) {
		t.Error("the values were reordered")
	}
}

// The coverage of about 0.93 misses the bound once in a million.
func TestTheIntervalHoldsTheTrueMedian(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	held := 0
	for range 200 {
		xs := make([]float64, 15)
		for i := range xs {
			xs[i] = 1 + 0.02*rng.NormFloat64()
		}
		if low, high := MedianInterval(xs); low <= 1 && 1 <= high && low < high {
			held++
		}
	}
	if held < 170 {
		t.Errorf("the interval holds the median in %d of 200", held)
	}
	if low, high := MedianInterval([]float64{2, 2, 2}); low != 2 || high != 2 {
		t.Errorf("of three equal values it is %v to %v", low, high)
	}
	if low, high := MedianInterval(nil); low != 0 || high != 0 {
		t.Errorf("of none it is %v to %v", low, high)
	}
}
