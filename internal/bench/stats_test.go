// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"math/rand/v2"
	"testing"
)

func TestMedian(t *testing.T) {
	if m := median([]float64{3, 1, 2}); m != 2 {
		t.Errorf("odd: %v", m)
	}
	if m := median([]float64{4, 1, 2, 3}); m != 2.5 {
		t.Errorf("even: %v", m)
	}
}

// The coverage of about 0.93 misses the bound once in a million.
func TestIntervalCoversTheMedian(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	covered := 0
	for range 200 {
		xs := make([]float64, 15)
		for i := range xs {
			xs[i] = 1 + 0.02*rng.NormFloat64()
		}
		if low, high := interval(xs); low <= 1 && 1 <= high {
			covered++
		}
	}
	if covered < 170 {
		t.Errorf("covered in %d of 200 cases", covered)
	}
}
