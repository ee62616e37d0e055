// SPDX-License-Identifier: Apache-2.0

package statistics

import (
	"math"
	"testing"
)

func TestStudentsBoundsAreThoseOfTables(t *testing.T) {
	for _, c := range []struct {
		alpha   float64
		freedom int
		want    float64
	}{
		{0.05, 1, 12.706}, {0.05, 2, 4.303}, {0.05, 3, 3.182}, {0.05, 4, 2.776}, {0.05, 8, 2.306}, {0.05, 30, 2.042},
		{0.01, 4, 4.604}, {0.01, 5, 4.032}, {0.001, 4, 8.610}, {0.001, 10, 4.587}, {0.05, 1000, 1.962},
	} {
		if got := StudentBound(c.alpha, c.freedom); math.Abs(got-c.want) > 0.0006 {
			t.Errorf("alpha %v, %d degrees of freedom: %.4f, want %.3f", c.alpha, c.freedom, got, c.want)
		}
	}
	for _, freedom := range []int{1, 2, 4, 9, 40} {
		if a, b := StudentBound(1e-4, freedom), StudentBound(1e-7, freedom); !(b > a) || math.IsInf(b, 0) {
			t.Errorf("%d degrees of freedom: %v, %v", freedom, a, b)
		}
	}
}

func TestStudentsTailsAreThoseOfTables(t *testing.T) {
	for _, c := range []struct {
		t       float64
		freedom int
		want    float64
	}{
		{12.706, 1, 0.05}, {2.571, 5, 0.05}, {-2.571, 5, 0.05}, {3.169, 10, 0.01}, {3.883, 19, 0.001}, {1.960, 1e6, 0.05},
		{1e6, 1, 2 / math.Pi * 1e-6}, // one degree of freedom: the Cauchy distribution
		{0, 7, 1}, {3, 0, 1}, {math.Inf(1), 3, 0}, {math.Inf(-1), 4, 0},
	} {
		if got := StudentTail(c.t, c.freedom); !(math.Abs(got-c.want) <= 0.002*c.want) {
			t.Errorf("t = %v, %d degrees of freedom: %v, want %v", c.t, c.freedom, got, c.want)
		}
	}
}
