// SPDX-License-Identifier: Apache-2.0

package report

import (
	"math"

	"prywalk/internal/statistics"
	"prywalk/internal/view"
)

// comparison compares two sides. Values are scaled by [DiffOptions].Per.
type comparison interface {
	whole() ComparedValue
	function(f *view.Frame, before, after view.Row) (self, total ComparedValue)
	// mark marks significant values.
	mark(whole *ComparedValue, functions []*ComparedValue)
	untested() string
	exceedsUntested() bool
	note() string
}

// setSignificant requires a change of more than bound standard errors, with and without partOfWholesChange.
func (v *ComparedValue) setSignificant(bound float64) {
	least := bound * v.errorIfEqual
	beyondWhole := v.Delta() - v.partOfWholesChange
	v.Significant = math.Abs(v.Delta()) > least && math.Abs(beyondWhole) > least+rounding*math.Abs(v.New)
}

// rounding is the share of a value up to which a difference is arithmetic.
const rounding = 1e-9

func significanceBound(tests int) float64 {
	return math.Sqrt2 * math.Erfinv(1-significanceLevel(tests))
}

// significanceLevel is each test's error rate (Bonferroni).
func significanceLevel(tests int) float64 {
	return statistics.SignificanceLevel / float64(max(tests, 1))
}
