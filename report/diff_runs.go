// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"math"

	"prywalk/internal/statistics"
	"prywalk/internal/tabular"
	"prywalk/internal/view"
)

const minTestedShare = 0.01

// MinRuns is the least number of runs a side of which [DiffRuns] finds more than very large changes.
const MinRuns = 3

type runValue struct{ self, total float64 }

type meanComparison struct {
	sums      sampleComparison
	means     ComparedValue
	functions [2][]map[view.Frame]runValue
}

func newMeanComparison(sums sampleComparison, per string) *meanComparison {
	c := &meanComparison{sums: sums}
	older, newer := sums[0], sums[1]
	var wholes [2][]float64
	for i, s := range sums {
		for _, run := range s.runs {
			var newerFrame map[view.Frame]view.Frame
			if s == older {
				newerFrame = view.Counterparts(run.Data, newer.sum.Data)
			}
			c.functions[i] = append(c.functions[i], valuesOf(run, newerFrame, per))
			wholes[i] = append(wholes[i], float64(run.Total(run.ValueIndex))*scaleOf(run, per, 1))
		}
	}
	c.means = c.compareMeans(wholes, 0)
	return c
}

func valuesOf(run *data, newerFrame map[view.Frame]view.Frame, per string) map[view.Frame]runValue {
	out, scale := map[view.Frame]runValue{}, scaleOf(run, per, 1)
	for _, r := range run.Rows(run.Profile.Sample) {
		f := run.Frames[r.Frame]
		if newer, ok := newerFrame[f]; ok {
			f = newer
		}
		v := out[f]
		out[f] = runValue{v.self + float64(r.Self)*scale, v.total + float64(r.Total)*scale}
	}
	return out
}

func (c *meanComparison) whole() ComparedValue { return c.means }

func (c *meanComparison) function(f *view.Frame, before, after view.Row) (self, total ComparedValue) {
	var selves, totals [2][]float64
	for i, runs := range c.functions {
		for _, values := range runs {
			v := values[*f]
			selves[i], totals[i] = append(selves[i], v.self), append(totals[i], v.total)
		}
	}
	self, total = c.sums.function(f, before, after)
	return c.compareMeans(selves, self.errorIfEqual), c.compareMeans(totals, total.errorIfEqual)
}

// compareMeans compares the runs' means; sampling is the difference's standard error by sampling alone.
func (c *meanComparison) compareMeans(values [2][]float64, sampling float64) ComparedValue {
	var mean [2]float64
	squares, inverses := 0.0, 0.0
	for i, list := range values {
		n := float64(len(list))
		for _, v := range list {
			mean[i] += v / n
		}
		for _, v := range list {
			squares += (v - mean[i]) * (v - mean[i])
		}
		inverses += 1 / n
	}
	spread := math.Sqrt(squares / float64(c.degreesOfFreedom()) * inverses)
	v := ComparedValue{Old: mean[0], New: mean[1], errorIfEqual: max(spread, sampling)}
	v.Margin = v.errorIfEqual * statistics.StudentBound(statistics.SignificanceLevel, c.degreesOfFreedom())
	return v
}

func (c *meanComparison) degreesOfFreedom() int { return len(c.sums[0].runs) + len(c.sums[1].runs) - 2 }

// mark marks significant changes. The whole has half of the error rate, the large functions share the rest.
func (c *meanComparison) mark(whole *ComparedValue, functions []*ComparedValue) {
	least := minTestedShare * (whole.Old + whole.New)
	var tested []*ComparedValue
	for _, v := range functions {
		if v.Old+v.New >= least {
			tested = append(tested, v)
		}
	}
	const level = statistics.SignificanceLevel / 2
	whole.setSignificant(statistics.StudentBound(level, c.degreesOfFreedom()))
	bound := statistics.StudentBound(level/float64(max(len(tested), 1)), c.degreesOfFreedom())
	for _, v := range tested {
		v.setSignificant(bound)
	}
}

func (c *meanComparison) untested() string { return "" }

func (c *meanComparison) exceedsUntested() bool { return false }

func (c *meanComparison) note() string {
	older, newer := len(c.sums[0].runs), len(c.sums[1].runs)
	text := fmt.Sprintf("Means of %s and %s; ± is the noise between runs. For equal programs, at most 1 comparison "+
		"in 20 shows a significant change.", tabular.Plural(int64(older), "run"), tabular.Plural(int64(newer), "run"))
	if min(older, newer) < MinRuns {
		text += fmt.Sprintf(" With fewer than %d runs a side only very large changes are significant.", MinRuns)
	}
	return text
}
