package bench

import (
	"math/rand/v2"
	"slices"
)

// resamples is the number of bootstrap samples behind an interval.
const resamples = 10000

// median gives the middle of xs, which it sorts; NaN-free, at least one.
func median(xs []float64) float64 {
	slices.Sort(xs)
	n := len(xs)
	if n%2 == 1 {
		return xs[n/2]
	}
	return (xs[n/2-1] + xs[n/2]) / 2
}

// interval gives the 95 % percentile bootstrap interval of the median of xs (Efron
// and Tibshirani, An Introduction to the Bootstrap, chapter 13). The seed is fixed,
// so that the same measurements give the same interval.
func interval(xs []float64) (low, high float64) {
	rng := rand.New(rand.NewPCG(1, 2))
	medians := make([]float64, resamples)
	sample := make([]float64, len(xs))
	for i := range medians {
		for j := range sample {
			sample[j] = xs[rng.IntN(len(xs))]
		}
		medians[i] = median(sample)
	}
	slices.Sort(medians)
	return medians[resamples*25/1000], medians[resamples*975/1000]
}
