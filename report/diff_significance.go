// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"math"

	"prywalk/internal/base/statistics"
	"prywalk/internal/show/view"
)

// comparison compares two sides. Values are scaled by [DiffOptions].Per.
type comparison interface {
	whole() ComparedValue
	function(f *view.Frame, before, after view.Row) (self, total ComparedValue)
	// mark marks significant values.
	mark(whole *ComparedValue, changes []Change)
	// leastFound is the growth of a function, and of the whole, by a share of the old whole that is found 9 times in 10
	// with so many runs a side. 0: not tested.
	leastFound(changes []Change, runs [2]int) (function, whole float64)
	untested() string
	exceedsUntested() bool
	note() string
}

// decide calls a change significant if it exceeds bound standard errors. If the value would change in the same
// direction with the whole (partOfWholesChange), the change must exceed that part as well.
func (v *ComparedValue) decide(bound float64) {
	v.Margin = bound * v.errorIfEqual
	if part := v.partOfWholesChange; part*v.Delta() > 0 {
		v.Margin += math.Abs(part)
	}
	v.Significant = v.tested && math.Abs(v.Delta()) > v.Margin+rounding*math.Abs(v.New)
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

// nineInTen is the standard normal distribution's quantile of 0.9.
const nineInTen = 1.2816

// reach is a change, in standard errors, that exceeds the bound 9 times in 10. The squared error is the mean of a known
// one, of prior degrees of freedom, and of an estimate.
func reach(bound float64, prior, degreesOfFreedom int) float64 {
	ofError := float64(degreesOfFreedom) / float64((prior+degreesOfFreedom)*(prior+degreesOfFreedom)) / 2
	return bound + nineInTen*math.Sqrt(1+bound*bound*ofError)
}

// leastShare is the least growth by a share of the whole that is found, over 1000 if none.
func leastShare(isFound func(share float64) bool) float64 {
	low, high := 0.0, 1e-3
	for !isFound(high) {
		if low, high = high, 2*high; high > 1e3 {
			return high
		}
	}
	for high-low > 1e-4*high {
		if middle := (low + high) / 2; isFound(middle) {
			high = middle
		} else {
			low = middle
		}
	}
	return high
}

func (d *Difference) runCounts() [2]int { return [2]int{d.old.runCount(), d.new.runCount()} }

func (d *Difference) saysWhatIsFound() bool { return d.Untested() == "" && d.Whole.Old > 0 }

// FoundGrowth says which growth is found 9 times in 10, or "" without a test.
func (d *Difference) FoundGrowth() string {
	if !d.saysWhatIsFound() {
		return ""
	}
	runs := d.runCounts()
	text := "Found 9 times in 10: " + growthText(d.test.leastFound(d.Changes, runs))
	if runs == [2]int{1, 1} {
		return text
	}
	more := 5
	for more <= max(runs[0], runs[1]) {
		more *= 2
	}
	function, whole := d.test.leastFound(d.Changes, [2]int{more, more})
	return text + fmt.Sprintf("; with %d runs a side: %s", more, growthText(function, whole))
}

func growthText(function, whole float64) string {
	text := "a function that grew by " + percentUp(function) + " of the old total"
	if function > 10 {
		text = "no growth of a function"
	}
	if whole > 0 {
		text += ", a total that grew by " + percentUp(whole)
	}
	return text
}

func percentUp(share float64) string { return fmt.Sprintf("%.1f%%", math.Ceil(1000*share)/10) }
