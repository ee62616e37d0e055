// SPDX-License-Identifier: Apache-2.0

package stats

import (
	"fmt"
	"math/rand/v2"
	"slices"
)

// Bootstraps (Efron and Tibshirani, An Introduction to the Bootstrap, chapter 13) are of this many samples with fixed
// seeds.
const resamples = 10000

// Median is 0 for none.
func Median(xs []float64) float64 { return sortedMedian(slices.Sorted(slices.Values(xs))) }

func sortedMedian(xs []float64) float64 {
	n := len(xs)
	if n == 0 {
		return 0
	}
	return (xs[(n-1)/2] + xs[n/2]) / 2
}

// MedianInterval is the 95 % percentile bootstrap interval of the median; 0 to 0 for none.
func MedianInterval(xs []float64) (low, high float64) {
	if len(xs) == 0 {
		return 0, 0
	}
	rng := rand.New(rand.NewPCG(1, 2))
	medians := make([]float64, resamples)
	sample := make([]float64, len(xs))
	for i := range medians {
		medians[i] = resampledMedian(rng, sample, xs)
	}
	return Middle95(medians)
}

func resampledMedian(rng *rand.Rand, sample, xs []float64) float64 {
	for i := range sample {
		sample[i] = xs[rng.IntN(len(xs))]
	}
	slices.Sort(sample)
	return sortedMedian(sample)
}

// Middle95 sorts xs, and bounds its middle 95 %. Precondition: not empty.
func Middle95(xs []float64) (low, high float64) {
	slices.Sort(xs)
	return xs[len(xs)*25/1000], xs[min(len(xs)*975/1000, len(xs)-1)]
}

// Difference has a 95 % interval.
type Difference struct{ Middle, Low, High float64 }

// Text has the interval.
func (d *Difference) Text() string {
	return fmt.Sprintf("%+.4f [%+.4f, %+.4f]", d.Middle, d.Low, d.High)
}

// CompareMedians returns a figure of two medians with its bootstrap interval.
func CompareMedians(a, b []float64, figure func(a, b float64) float64) (d Difference) {
	d.Middle = figure(Median(a), Median(b))
	rng := rand.New(rand.NewPCG(3, 4))
	sampleA, sampleB := make([]float64, len(a)), make([]float64, len(b))
	all := make([]float64, resamples)
	for i := range all {
		medianA := resampledMedian(rng, sampleA, a)
		all[i] = figure(medianA, resampledMedian(rng, sampleB, b))
	}
	d.Low, d.High = Middle95(all)
	return d
}
