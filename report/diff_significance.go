// SPDX-License-Identifier: Apache-2.0

package report

import (
	"errors"
	"fmt"
	"math"

	"github.com/google/pprof/profile"

	"prywalk/internal/base/statistics"
	"prywalk/internal/base/tabular"
	"prywalk/internal/show/view"
)

// comparison compares two sides. Values are scaled by [DiffOptions].Per.
type comparison interface {
	whole() ComparedValue
	function(f *view.Frame, before, after view.Row) (self, total ComparedValue)
	// mark marks significant values.
	mark(whole *ComparedValue, changes []Change)
	// leastFound is the growth of a function, and of the whole, by a share of the old whole that is found 9 times in 10
	// with so many runs a side. 0 means not tested.
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

type side struct {
	name      string
	sum       *data
	runs      []*data // nil with one run a side
	precision tabular.Precision
	// scale is the factor of the sum's values, by [DiffOptions].Per.
	scale float64
}

func (s *side) readSum(runs []*profile.Profile, o Options) error {
	sum, err := sumOfRuns(runs)
	if err == nil {
		s.sum, err = prepare(sum, o)
	}
	if err == nil {
		s.precision, err = sumPrecision(runs, o.Value)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", s.name, err)
	}
	return nil
}

func sumOfRuns(runs []*profile.Profile) (*profile.Profile, error) {
	switch len(runs) {
	case 0:
		return nil, errors.New("no run")
	case 1:
		return runs[0], nil
	}
	return profile.Merge(runs)
}

// sumPrecision returns the precision of the sum of runs. Samples depend on each other within a run only.
func sumPrecision(runs []*profile.Profile, value string) (sum tabular.Precision, err error) {
	for _, run := range runs {
		p, err := view.WholePrecision(run, value)
		if err != nil {
			return sum, err
		}
		sum.Total += p.Total
		sum.N += p.N
		sum.Samples += p.Samples
	}
	return sum, nil
}

func (s *side) readRuns(runs []*profile.Profile, o *DiffOptions) error {
	for i, p := range runs {
		d, err := prepare(p, o.Options)
		if err != nil {
			return fmt.Errorf("run %d of %s: %w", i+1, s.name, err)
		}
		s.runs = append(s.runs, d)
		if o.Per == "second" && d.Profile.DurationNanos <= 0 {
			return fmt.Errorf("--per second: run %d of %s has no duration", i+1, s.name)
		}
	}
	return nil
}

func (s *side) setScale(per string, runs int) error {
	if per == "second" && s.sum.Profile.DurationNanos <= 0 {
		return fmt.Errorf("--per second: %s has no duration", s.name)
	}
	s.scale = scaleOf(s.sum, per, runs)
	return nil
}

func scaleOf(sum *data, per string, runs int) float64 {
	switch per {
	case "second":
		return 1e9 / float64(sum.Profile.DurationNanos)
	case "share":
		return 1 / max(1, float64(sum.Total(sum.ValueIndex)))
	}
	return 1 / float64(runs)
}

// runCount is 1 with one run a side.
func (s *side) runCount() int { return max(1, len(s.runs)) }

// meanDuration returns the mean length of the runs, in nanoseconds.
func (s *side) meanDuration() float64 {
	return float64(s.sum.Profile.DurationNanos) / float64(s.runCount())
}

func (s *side) value() *profile.ValueType { return s.sum.Profile.SampleType[s.sum.ValueIndex] }

// scaledTotal includes the samples that --focus and the like leave out.
func (s *side) scaledTotal() float64 { return s.precision.Total * s.scale }

func (s *side) memoryErr() error {
	for _, d := range s.runs {
		if err := d.Memory.Err(); err != nil {
			return err
		}
	}
	return s.sum.Memory.Err()
}

func (s *side) close() {
	if s.sum != nil {
		s.sum.Memory.Close()
	}
	for _, d := range s.runs {
		d.Memory.Close()
	}
}
