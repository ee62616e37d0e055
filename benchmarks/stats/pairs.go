// SPDX-License-Identifier: Apache-2.0

package stats

import (
	"math"

	"prywalk/internal/base/statistics"
)

// Slice is what one profiler saw in a slice of time.
type Slice struct {
	// Part is the weight (CPU time, or samples) of the thing in question, All that of everything.
	Part, All float64
	// Count is the effective number of samples of All: (Σ weights)² ÷ Σ weights².
	Count float64
}

// Share is a share with its error.
type Share struct {
	P float64 // 0 to 1: the sum of the parts over the sum of all
	// SE is its standard error by the differences between slices, at least the binomial one.
	SE float64
}

// Comparison is the result of [ComparePairs].
type Comparison struct {
	A, B Share
	// Difference is A.P − B.P and SE its standard error; slow changes of the load cancel.
	Difference, SE float64
	// T is Difference/SE, PValue its two-sided probability with DF degrees of freedom if the true shares are equal.
	T, PValue float64
	DF        int
}

// ComparePairs compares alternating slices: a[i] and b[i] are neighbours in time. PValue is 1 for fewer than two pairs,
// or if one saw nothing.
func ComparePairs(a, b []Slice) Comparison {
	n := min(len(a), len(b))
	a, b = a[:n], b[:n]
	ra, sa := linear(a)
	rb, sb := linear(b)
	c := Comparison{A: sa, B: sb, Difference: sa.P - sb.P, PValue: 1, DF: n - 1}
	if n < 2 || ra == nil || rb == nil {
		return c
	}
	diff := make([]float64, n)
	for i := range diff {
		diff[i] = ra[i] - rb[i]
	}
	floor := binomial(a, b)
	c.SE = math.Sqrt(max(sumOfSquares(diff), floor/count(a)+floor/count(b)))
	if c.SE > 0 {
		c.T = c.Difference / c.SE
		c.PValue = statistics.StudentTail(c.T, c.DF)
	}
	return c
}

// linear returns the share, and each slice's residual of the linearised ratio; nil: no samples.
func linear(s []Slice) ([]float64, Share) {
	var part, all float64
	for _, x := range s {
		part += x.Part
		all += x.All
	}
	if all <= 0 {
		return nil, Share{}
	}
	p := part / all
	r := make([]float64, len(s))
	for i, x := range s {
		r[i] = (x.Part - p*x.All) / all
	}
	variance := sumOfSquares(r)
	if n := count(s); n > 0 {
		variance = max(variance, p*(1-p)/n)
	}
	return r, Share{P: p, SE: math.Sqrt(variance)}
}

func sumOfSquares(r []float64) float64 {
	if len(r) < 2 {
		return 0
	}
	var sum float64
	for _, x := range r {
		sum += x * x
	}
	return sum * float64(len(r)) / float64(len(r)-1)
}

// binomial uses both profilers' samples: the variance of one alone is 0 if it saw none.
func binomial(a, b []Slice) float64 {
	var part, all float64
	for _, s := range [][]Slice{a, b} {
		n := count(s)
		var w, v float64
		for _, x := range s {
			w += x.Part
			v += x.All
		}
		part += n * w / v
		all += n
	}
	p := part / all
	return max(0, p*(1-p))
}

func count(s []Slice) float64 {
	var n float64
	for _, x := range s {
		n += x.Count
	}
	return max(n, 1)
}
