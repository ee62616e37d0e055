// SPDX-License-Identifier: Apache-2.0

package statistics

import (
	"math"
	"testing"
)

func TestWilsonContainsItsProportion(t *testing.T) {
	low, high := Wilson(81, 263) // a worked example of Newcombe 1998
	if math.Abs(low-0.2553) > 1e-4 || math.Abs(high-0.3662) > 1e-4 {
		t.Errorf("81 of 263: %v to %v, want 0.2553 to 0.3662", low, high)
	}
	for _, c := range [][2]float64{{0, 10}, {10, 10}, {1, 3}, {999, 1000}} {
		if low, high := Wilson(c[0], c[1]); low > c[0]/c[1] || high < c[0]/c[1] || low < 0 || high > 1 {
			t.Errorf("%v: %v to %v", c, low, high)
		}
	}
	if low, high := Wilson(0, 0); low != 0 || high != 1 {
		t.Errorf("of nothing: %v to %v", low, high)
	}
}
