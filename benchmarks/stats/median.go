// SPDX-License-Identifier: Apache-2.0

package stats

import (
	"math/rand/v2"
	"slices"
)

const resamples = 10000

// Median does not change xs; 0 for none.
func Median(xs []float64) float64 { return sortedMedian(slices.Sorted(slices.Values(xs))) }

func sortedMedian(xs []float64) float64 {
	n := len(xs)
	if n == 0 {
		return 0
	}
	return (xs[(n-1)/2] + xs[n/2]) / 2
}

// MedianInterval is the 95 % percentile bootstrap interval (Efron and Tibshirani, An Introduction to the Bootstrap,
// chapter 13), with a fixed seed; 0 to 0 for none.
func MedianInterval(xs []float64) (low, high float64) {
	if len(xs) == 0 {
		return 0, 0
	}
	rng := rand.New(rand.NewPCG(1, 2))
	medians := make([]float64, resamples)
	sample := make([]float64, len(xs))
	for i := range medians {
		for j := range sample {
			sample[j] = xs[rng.IntN(len(xs))]
		}
		slices.Sort(sample)
		medians[i] = sortedMedian(sample)
	}
	slices.Sort(medians)
	return Quantile(medians, 0.025), Quantile(medians, 0.975)
}
