// SPDX-License-Identifier: Apache-2.0

// Package statistics has the distributions and intervals of reports: Fisher's, Student's and Wilson's.
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

// FisherTail is the probability, by chance, of counts that differ at least as much: twice the smaller tail of the
// second side's count, given the sum of both. odds is the ratio of the second side's odds of a sample to count to the
// first side's (Fisher's noncentral hypergeometric distribution; 1: his exact test). Counts need not be whole numbers:
// the distribution's points are then as far from whole ones. It takes a step for each point within eight standard
// deviations.
func FisherTail(counts, samples [2]float64, odds float64) float64 {
	sum, rest := counts[0]+counts[1], samples[0]-counts[0]-counts[1]
	// rise is P(x+1) ÷ P(x).
	rise := func(x float64) float64 { return odds * (samples[1] - x) * (sum - x) / ((x + 1) * (rest + x + 1)) }
	const negligible = 1e-15
	above, below := 0.0, 0.0 // in units of the probability of counts
	for x, p := counts[1], 1.0; x+1 <= min(sum, samples[1]); x++ {
		if p *= rise(x); !(p > negligible*above) {
			break
		}
		above += p
	}
	for x, p := counts[1]-1, 1.0; x >= max(0, -rest); x-- {
		if p /= rise(x); !(p > negligible*below) {
			break
		}
		below += p
	}
	return min(1, 2*(1+min(above, below))/(1+above+below))
}

const z95 = 1.959964

// Wilson is the 95 % score interval of the proportion of k in n samples (Wilson 1927); 0 to 1 if n ≤ 0.
func Wilson(k, n float64) (low, high float64) {
	if n <= 0 {
		return 0, 1
	}
	const z2 = z95 * z95
	p := k / n
	scale := 1 + z2/n
	middle, half := (p+z2/(2*n))/scale, z95/scale*math.Sqrt(p*(1-p)/n+z2/(4*n*n))
	low, high = max(0, middle-half), min(1, middle+half)
	// Exactly 0 and 1 at the ends, despite rounding.
	if k <= 0 {
		low = 0
	}
	if k >= n {
		high = 1
	}
	return low, high
}
