// SPDX-License-Identifier: Apache-2.0

// Package statistics has the distributions and intervals of reports: Fisher's, Student's and Wilson's.
package statistics

import (
	"math"
	"math/rand/v2"
	"slices"
)

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
	return min(max(0, middle-half), p), max(min(1, middle+half), p) // exactly 0 and 1 at the ends, despite rounding
}

// Deviations are a quantity's values in n runs, less their mean.
type Deviations struct {
	Values []float64
	// Prior is the variance that is expected of a run, of as many degrees of freedom as [PriorWeight].
	Prior float64
}

// Variance is the variance of the values.
func (d Deviations) Variance() float64 { return dot(d.Values, d.Values) / float64(len(d.Values)-1) }

// PriorWeight is the number of degrees of freedom of [Deviations.Prior].
const PriorWeight = 8

// rotations is a multiple of 1/alpha less 1: the bound is exact.
const rotations = 9999

// RotationBound returns what the largest |t| of several quantities, each with its moderated variance, exceeds with the
// probability alpha if the runs are equal: a rotation test (Langsrud, Statistics and Computing 15, 2005). Runs drawn
// from one normal distribution, whatever the correlation of their quantities, are as probable in any direction of the
// space of deviations as in that of the difference of two sides. So the bound is the quantile of the largest |t| over
// random directions. Unlike Bonferroni's it costs little for quantities that vary as expected. Precondition: at least
// 3 runs; Prior depends on the lengths of Values only.
func RotationBound(alpha float64, quantities []Deviations) float64 {
	if len(quantities) == 0 {
		return 0
	}
	rng := rand.New(rand.NewPCG(1, 2))
	largest := make([]float64, rotations)
	direction := make([]float64, len(quantities[0].Values))
	squares := make([]float64, len(quantities))
	for i, q := range quantities {
		squares[i] = dot(q.Values, q.Values)
	}
	for k := range largest {
		randomDirection(rng, direction)
		for i, q := range quantities {
			along := dot(q.Values, direction)
			if along != 0 {
				variance := ModeratedVariance(q.Prior, max(0, squares[i]-along*along), len(direction)-2)
				largest[k] = max(largest[k], along*along/variance)
			}
		}
	}
	slices.Sort(largest)
	return math.Sqrt(largest[rotations-int(math.Round(alpha*(rotations+1)))])
}

// ModeratedVariance is the mean of a prior variance and that of residuals with a sum of squares, by degrees of freedom.
func ModeratedVariance(prior, squares float64, degreesOfFreedom int) float64 {
	return (PriorWeight*prior + squares) / float64(PriorWeight+degreesOfFreedom)
}

// randomDirection draws a vector of length 1 whose sum is 0.
func randomDirection(rng *rand.Rand, out []float64) {
	mean := 0.0
	for i := range out {
		out[i] = rng.NormFloat64()
		mean += out[i] / float64(len(out))
	}
	for i := range out {
		out[i] -= mean
	}
	length := math.Sqrt(dot(out, out))
	for i := range out {
		out[i] /= length
	}
}

func dot(a, b []float64) (sum float64) {
	for i, v := range a {
		sum += v * b[i]
	}
	return sum
}
