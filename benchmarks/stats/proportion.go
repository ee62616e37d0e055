// SPDX-License-Identifier: Apache-2.0

package stats

import "math"

// Wilson is the score interval of k in n at z standard deviations (1.96: 95 %; Wilson 1927); for n ≤ 0, 0 to 1.
func Wilson(k, n int64, z float64) (low, high float64) {
	if n <= 0 {
		return 0, 1
	}
	p, m := float64(k)/float64(n), float64(n)
	centre := p + z*z/(2*m)
	half := z * math.Sqrt(p*(1-p)/m+z*z/(4*m*m))
	scale := 1 + z*z/m
	low, high = max(0, (centre-half)/scale), min(1, (centre+half)/scale)
	// Exactly 0 and 1 at the ends, despite rounding.
	if k <= 0 {
		low = 0
	}
	if k >= n {
		high = 1
	}
	return low, high
}

// Ratio is part ÷ whole; 0 if whole is 0.
func Ratio(part, whole int64) float64 {
	if whole == 0 {
		return 0
	}
	return float64(part) / float64(whole)
}

// Quantile is the smallest of sorted values that at least the part q of them does not exceed; 0 for none.
func Quantile(sorted []float64, q float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	i := int(math.Ceil(q*float64(len(sorted)))) - 1
	return sorted[min(max(i, 0), len(sorted)-1)]
}
