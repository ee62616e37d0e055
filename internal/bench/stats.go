// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"math/rand/v2"
	"slices"
)

const resamples = 10000

// median sorts xs. Preconditions: not empty, no NaN.
func median(xs []float64) float64 {
	slices.Sort(xs)
	n := len(xs)
	if n%2 == 1 {
		return xs[n/2]
	}
	return (xs[n/2-1] + xs[n/2]) / 2
}

// interval is the 95 % percentile bootstrap interval of the median (Efron and Tibshirani, chapter 13), with a fixed
// seed.
func interval(xs []float64) (low, high float64) {
	rng := rand.New(rand.NewPCG(1, 2))
	medians := make([]float64, resamples)
	sample := make([]float64, len(xs))
	for i := range medians {
		resample(rng, sample, xs)
		medians[i] = median(sample)
	}
	return Middle95(medians)
}

func resample(rng *rand.Rand, sample, xs []float64) {
	for i := range sample {
		sample[i] = xs[rng.IntN(len(xs))]
	}
}

// Middle95 sorts xs, and bounds its middle 95 %.
func Middle95(xs []float64) (low, high float64) {
	slices.Sort(xs)
	return xs[len(xs)*25/1000], xs[min(len(xs)*975/1000, len(xs)-1)]
}
