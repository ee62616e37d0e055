// SPDX-License-Identifier: Apache-2.0

package statistics

import (
	"math"
	"math/rand/v2"
	"slices"
)

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
