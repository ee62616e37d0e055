// SPDX-License-Identifier: Apache-2.0

package tabular

import "math"

// FalseAlarms is the probability that equal loads show a change, in a diff and in a refresh of top.
const FalseAlarms = 0.05

// StudentBound is the two-sided quantile of Student's distribution at 1 − alpha, accurate to 10⁻⁹.
func StudentBound(alpha float64, freedom int) float64 {
	low, high := 0.0, 1.0
	for studentBeyond(high, freedom) > alpha && high < 1e12 {
		high *= 2
	}
	for high-low > 1e-9*high {
		middle := (low + high) / 2
		if studentBeyond(middle, freedom) > alpha {
			low = middle
		} else {
			high = middle
		}
	}
	return high
}

// studentBeyond is the probability of more than t standard errors, either way (Abramowitz and Stegun 26.7.3, 26.7.4).
// Results below 10⁻¹⁰ are meaningless; tests ask for at least 10⁻⁷.
func studentBeyond(t float64, freedom int) float64 {
	n := float64(freedom)
	theta := math.Atan2(t, math.Sqrt(n))
	sin, cos := math.Sincos(theta)
	sum, term := 0.0, 1.0
	if freedom%2 == 1 {
		term = cos
		for k := 3; k <= freedom; k += 2 {
			sum += term
			term *= cos * cos * float64(k-1) / float64(k)
		}
		return max(0, 1-2/math.Pi*(theta+sin*sum))
	}
	for k := 2; k <= freedom; k += 2 {
		sum += term
		term *= cos * cos * float64(k-1) / float64(k)
	}
	return max(0, 1-sin*sum)
}
