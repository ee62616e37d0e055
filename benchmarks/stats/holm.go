// SPDX-License-Identifier: Apache-2.0

package stats

import (
	"cmp"
	"slices"
)

// Holm returns the null hypotheses to reject, with a probability of at most rate that any of them is true (Holm 1979):
// in ascending order, the i-th of m p-values must be at most rate/(m−i).
func Holm(p []float64, rate float64) []bool {
	order := make([]int, len(p))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(p[a], p[b]) })
	reject := make([]bool, len(p))
	for i, k := range order {
		if !(p[k] <= rate/float64(len(p)-i)) {
			break
		}
		reject[k] = true
	}
	return reject
}
