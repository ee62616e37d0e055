// SPDX-License-Identifier: Apache-2.0

package stats

import "math"

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
