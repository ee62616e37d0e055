// SPDX-License-Identifier: Apache-2.0

package stats

import (
	"cmp"
	"slices"
)

// Holm returns which null hypotheses to reject, such that the probability of rejecting any true one is at most rate,
// whatever their dependence (Holm 1979): in ascending order, those before the first of the m p-values that exceeds
// rate/(m−i), i from 0.
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
