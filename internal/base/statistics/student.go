// SPDX-License-Identifier: Apache-2.0

package statistics

import "math"

// SignificanceLevel is the probability that equal loads show a change.
const SignificanceLevel = 0.05

// StudentBound is the two-sided quantile of Student's distribution at 1 − alpha, with a relative error of 10⁻⁹.
func StudentBound(alpha float64, degreesOfFreedom int) float64 {
	low, high := 0.0, 1.0
	for StudentTail(high, degreesOfFreedom) > alpha && high < 1e12 {
		high *= 2
	}
	for high-low > 1e-9*high {
		middle := (low + high) / 2
		if StudentTail(middle, degreesOfFreedom) > alpha {
			low = middle
		} else {
			high = middle
		}
	}
	return high
}

// StudentTail is the probability that Student's t is at least as far from 0 as t (Abramowitz and Stegun 26.7.3,
// 26.7.4); 1 without a degree of freedom. Results below 10⁻¹⁰ are meaningless.
func StudentTail(t float64, degreesOfFreedom int) float64 {
	n := float64(degreesOfFreedom)
	theta := math.Atan2(math.Abs(t), math.Sqrt(n))
	sin, cos := math.Sincos(theta)
	sum, term := 0.0, 1.0
	if degreesOfFreedom%2 == 1 {
		term = cos
		for k := 3; k <= degreesOfFreedom; k += 2 {
			sum += term
			term *= cos * cos * float64(k-1) / float64(k)
		}
		return max(0, 1-2/math.Pi*(theta+sin*sum))
	}
	for k := 2; k <= degreesOfFreedom; k += 2 {
		sum += term
		term *= cos * cos * float64(k-1) / float64(k)
	}
	return max(0, 1-sin*sum)
}
