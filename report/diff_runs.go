// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"prywalk/internal/base/statistics"
	"prywalk/internal/base/tabular"
	"prywalk/internal/show/view"
)

const minTestedShare = 0.01

type runValue struct{ self, total float64 }

type meanComparison struct {
	sums      sampleComparison
	means     ComparedValue
	functions [2][]map[view.Frame]runValue
	bound     float64 // of the functions' |t|
	// errorOfWhole and noisiest are standard errors: of the whole, and the largest of a function's self time.
	errorOfWhole, noisiest float64
	largest                float64 // mean self time of a function
	scatter                float64 // the functions' median
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
		f := run.Table.Frames[r.Frame]
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
	squares, whole := 0.0, 0.0
	for i, list := range values {
		for _, v := range list {
			mean[i] += v / float64(len(list))
			whole += v / float64(len(values[0])+len(values[1]))
		}
		for _, v := range list {
			squares += (v - mean[i]) * (v - mean[i])
		}
	}
	v := ComparedValue{Old: mean[0], New: mean[1], mean: whole, squares: squares}
	for _, list := range values {
		for _, x := range list {
			v.runs.Values = append(v.runs.Values, x-whole)
		}
	}
	v.runs.Prior = sampling * sampling / c.inverses()
	return v
}

// inverses is the variance of the difference between the means of both sides, if a single run has the variance 1.
func (c *meanComparison) inverses() float64 { return inverses(c.runCounts()) }

func inverses(runs [2]int) float64 { return 1/float64(runs[0]) + 1/float64(runs[1]) }

func (c *meanComparison) runCounts() [2]int { return [2]int{len(c.sums[0].runs), len(c.sums[1].runs)} }

func (c *meanComparison) degreesOfFreedom() int { return c.runCounts()[0] + c.runCounts()[1] - 2 }

// mark marks significant changes. The whole has half of the error rate, the large functions together the rest.
func (c *meanComparison) mark(whole *ComparedValue, changes []Change) {
	const level = statistics.SignificanceLevel / 2
	c.errorOfWhole = math.Sqrt(whole.squares / float64(c.degreesOfFreedom()) * c.inverses())
	whole.tested, whole.errorIfEqual = true, c.errorOfWhole
	whole.decide(statistics.StudentBound(level, c.degreesOfFreedom()))
	least := minTestedShare * (whole.Old + whole.New)
	c.findNoisiest(changes, least)
	// The prior must not depend on which runs are of which side.
	scatter := scatterOf(changes, least, func(v *ComparedValue) float64 { return v.runs.Variance() })
	var quantities []statistics.Deviations
	for i := range changes {
		relative := scatter.without(i)
		for _, v := range []*ComparedValue{&changes[i].Self, &changes[i].Total} {
			v.runs.Prior += relative * v.mean * v.mean
			v.errorIfEqual = c.moderatedError(v, v.runs.Prior)
			if v.tested = v.Old+v.New >= least; v.tested {
				quantities = append(quantities, v.runs)
			}
		}
	}
	c.bound = statistics.RotationBound(level, quantities)
	for i := range changes {
		changes[i].Self.decide(c.bound)
		changes[i].Total.decide(c.bound)
	}
}

func (c *meanComparison) moderatedError(v *ComparedValue, prior float64) float64 {
	return math.Sqrt(statistics.ModeratedVariance(prior, v.squares, c.degreesOfFreedom()) * c.inverses())
}

func (c *meanComparison) findNoisiest(changes []Change, least float64) {
	c.scatter = scatterOf(changes, least, func(v *ComparedValue) float64 {
		return v.squares / float64(c.degreesOfFreedom())
	}).without(-1)
	for i := range changes {
		if v := &changes[i].Self; v.Old+v.New >= least {
			c.noisiest = max(c.noisiest, c.moderatedError(v, v.runs.Prior+c.scatter*v.mean*v.mean))
			c.largest = max(c.largest, v.mean)
		}
	}
}

func (c *meanComparison) leastFound(_ []Change, runs [2]int) (function, whole float64) {
	n, ratio := runs[0]+runs[1]-2, inverses(runs)/c.inverses()
	student := statistics.StudentBound(statistics.SignificanceLevel/2, n)
	whole = reach(student, 0, n) * c.errorOfWhole * math.Sqrt(ratio) / c.means.Old
	// A large change of one function raises the bound: it lies in most directions, at a quantile of their angles.
	cot := student / math.Sqrt(float64(n))
	cos, sin := cot/math.Hypot(1, cot), 1/math.Hypot(1, cot)
	const prior = statistics.PriorWeight
	function = leastShare(func(share float64) bool {
		growth := share * c.means.Old
		ofGrowth := math.Hypot(c.sums.values(0, growth/c.sums[1].scale).errorIfEqual,
			math.Sqrt(c.scatter*growth*(c.largest+growth/2)*c.inverses()))
		t := growth / (math.Hypot(c.noisiest, ofGrowth) * math.Sqrt(ratio))
		raised := t * cos / math.Sqrt((prior+t*t*sin*sin)/float64(prior+n))
		return t > reach(max(c.bound, raised), prior, n)
	})
	return function, whole
}

func (c *meanComparison) untested() string { return "" }

func (c *meanComparison) exceedsUntested() bool { return false }

func (c *meanComparison) note() string {
	runs := c.runCounts()
	return fmt.Sprintf("Means of %s and %s. What changed by more than ± is significant; for equal programs, at most 1 "+
		"comparison in 20 shows such a change.", tabular.Plural(int64(runs[0]), "run"), tabular.Plural(int64(runs[1]), "run"))
}

// scatter has, by function, the variance between runs beyond that of sampling, as a share of the squared mean, in
// ascending order.
type scatter []functionScatter

type functionScatter struct {
	change           int
	variance, weight float64
}

// scatterOf returns that of functions with a variance of their self times.
func scatterOf(changes []Change, least float64, variance func(*ComparedValue) float64) (s scatter) {
	for i := range changes {
		if v := &changes[i].Self; v.Old+v.New >= least && v.mean > 0 {
			s = append(s, functionScatter{i, (variance(v) - v.runs.Prior) / (v.mean * v.mean), v.mean})
		}
	}
	slices.SortFunc(s, func(a, b functionScatter) int { return cmp.Compare(a.variance, b.variance) })
	return s
}

// without is the median of the other functions, by time: one that has changed does not hide its own change.
func (s scatter) without(change int) float64 {
	half := 0.0
	for _, f := range s {
		if f.change != change {
			half += f.weight / 2
		}
	}
	for _, f := range s {
		if f.change == change {
			continue
		}
		if half -= f.weight; half <= 0 {
			return max(0, f.variance)
		}
	}
	return 0
}
