// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"math"

	"github.com/google/pprof/profile"

	"prywalk/internal/tabular"
	"prywalk/internal/view"
)

// minTestedShare is the share of the whole, both sides together, from which a function is tested.
const minTestedShare = 0.01

// runValue is scaled by [DiffOptions].Per.
type runValue struct{ self, total float64 }

func (x *Difference) prepareRuns(sides [2][]*profile.Profile) error {
	for i, runs := range sides {
		for n, p := range runs {
			d, err := prepare(p, x.opts.Options)
			if err != nil {
				return fmt.Errorf("run %d of %s: %w", n+1, recordingNames[i], err)
			}
			if x.opts.Per == "second" && d.Profile.DurationNanos <= 0 {
				return fmt.Errorf("--per second: run %d of %s has no duration", n+1, recordingNames[i])
			}
			x.runs[i] = append(x.runs[i], d)
		}
	}
	return nil
}

func (x *Difference) degreesOfFreedom() int { return len(x.runs[0]) + len(x.runs[1]) - 2 }

func (x *Difference) scaleOf(d *data) float64 {
	switch x.opts.Per {
	case "second":
		return 1e9 / float64(d.Profile.DurationNanos)
	case "share":
		return 1 / max(1, float64(d.Total(d.ValueIndex)))
	}
	return 1
}

func (x *Difference) compareRuns() {
	if x.runs[0] == nil {
		return
	}
	var values [2][]map[view.Frame]runValue
	var wholes [2][]float64
	for i, runs := range x.runs {
		for _, d := range runs {
			var same map[view.Frame]view.Frame
			if i == 0 {
				same = view.Counterparts(d.Data, x.new.Data)
			}
			values[i] = append(values[i], x.valuesOf(d, same))
			wholes[i] = append(wholes[i], float64(d.Total(d.ValueIndex))*x.scaleOf(d))
		}
	}
	x.Whole = x.compareMeans(wholes, 0)
	least := minTestedShare * (x.Whole.Old + x.Whole.New)
	for i := range x.Changes {
		c := &x.Changes[i]
		var self, total [2][]float64
		for side := range values {
			for _, v := range values[side] {
				self[side], total[side] = append(self[side], v[c.frame].self), append(total[side], v[c.frame].total)
			}
		}
		c.Self, c.Total = x.compareMeans(self, c.Self.nullError), x.compareMeans(total, c.Total.nullError)
		c.Self.rare, c.Total.rare = c.Self.Old+c.Self.New < least, c.Total.Old+c.Total.New < least
	}
}

// valuesOf sums a run by the new side's functions.
func (x *Difference) valuesOf(d *data, same map[view.Frame]view.Frame) map[view.Frame]runValue {
	out, scale := map[view.Frame]runValue{}, x.scaleOf(d)
	for _, r := range d.Rows(d.Profile.Sample) {
		f := d.Frames[r.Frame]
		if g, ok := same[f]; ok {
			f = g
		}
		v := out[f]
		out[f] = runValue{v.self + float64(r.Self)*scale, v.total + float64(r.Total)*scale}
	}
	return out
}

// compareMeans compares means; sampling is the difference's standard error by sampling alone.
func (x *Difference) compareMeans(values [2][]float64, sampling float64) ComparedValue {
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
	spread := math.Sqrt(squares / float64(x.degreesOfFreedom()) * inverses)
	f := ComparedValue{Old: mean[0], New: mean[1], nullError: max(spread, sampling)}
	f.Margin = f.nullError * tabular.StudentBound(significanceLevel, x.degreesOfFreedom())
	return f
}

func (x *Difference) runsNote() string {
	const several = "Compare several runs: -a A1,A2,A3 -b B1,B2,B3."
	if why := x.Untested(); why != "" {
		return "Not tested for significance: " + why + ". " + several
	}
	if x.runs[0] == nil {
		return fmt.Sprintf("One run per side: significant means more than sampling explains, and more than a change of the "+
			"whole by %g%%. The noise between runs is not known. %s", 100*maxSpreadBetweenRuns, several)
	}
	return fmt.Sprintf("Means of %s and %s; ± is the noise between runs. For equal programs, at most 1 comparison "+
		"in 20 shows a significant change.", tabular.Plural(int64(len(x.runs[0])), "run"),
		tabular.Plural(int64(len(x.runs[1])), "run"))
}
