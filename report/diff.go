// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/google/pprof/profile"

	"prywalk/internal/tabular"
	"prywalk/internal/view"
)

// ErrNormalization reports a [DiffOptions].Per that is not one of [Normalizations].
var ErrNormalization = errors.New("invalid --per")

// Normalizations returns the units of comparison: per recording, per second of it, as a share of its whole.
func Normalizations() []string { return []string{"run", "second", "share"} }

// DiffOptions select what is compared, and how.
type DiffOptions struct {
	Options
	// Per is one of [Normalizations]; "" is "run".
	Per string
	// All includes changes within the sampling error.
	All bool
}

// Change is the change of a function.
type Change struct {
	Name, Module string
	File         string // with --lines
	Line         int
	Self, Total  ComparedValue

	frame view.Frame // the new side's, as in [Difference.valuesOf]
}

// ComparedValue is a value in two profiles: in their unit, per second, or as a share of 1.
type ComparedValue struct {
	Old, New float64
	// Margin is half of the change's 95 % interval, by sampling or between runs; 0: unknown.
	Margin float64
	// Significant reports a change beyond the noise ([Diff], [DiffRuns]); false without a test ([Difference.Untested]).
	Significant bool

	nullError  float64 // standard error without a change
	wholeNoise float64 // its part of a whole that may change by noise
	rare       bool    // too small to test, with several runs
}

// Delta is New − Old.
func (f ComparedValue) Delta() float64 { return f.New - f.Old }

// Difference is a comparison.
type Difference struct {
	// Changes has all functions, the most slowed first.
	Changes []Change
	// Whole is the sum of all functions, by the kernel: without sampling error unless samples were selected.
	Whole ComparedValue

	old, new  *data
	runs      [2][]*data // nil with one run a side
	opts      DiffOptions
	scale     [2]float64
	precision [2]tabular.Precision
}

// significanceLevel is the probability of a significant change of equal loads.
const significanceLevel = tabular.SignificanceLevel

// Diff compares two profiles by function ([view.Counterparts]).
//
// A function's share has the standard error of [tabular.Precision], with fewer samples for threads in lockstep: too
// small for programs with long phases in random order. A change is significant if it exceeds the errors of both if the
// values were equal (score test), at the normal quantile for 5 % over all functions (Bonferroni). With one run a side
// other noise is unknown: the whole is never significant, and a change of it counts as noise up to a tenth, of which
// each function has its share. [DiffRuns] measures that noise.
func Diff(older, newer *profile.Profile, o DiffOptions) (*Difference, error) {
	return DiffRuns([]*profile.Profile{older}, []*profile.Profile{newer}, o)
}

// DiffRuns compares several runs a side by Student's two-sample test of their means, with common variance: the unit is
// the run, since data layout, load and frequency differ. The spread is at least the sampling error. Few runs and many
// tests (Bonferroni) make bounds high: functions small on both sides together, which does not depend on the change, are
// not tested. With one run a side it is [Diff].
func DiffRuns(older, newer []*profile.Profile, o DiffOptions) (*Difference, error) {
	per := cmp.Or(o.Per, "run")
	if !slices.Contains(Normalizations(), per) {
		return nil, fmt.Errorf("%w %q: choose run, second or share", ErrNormalization, per)
	}
	o.Per = per
	x := &Difference{opts: o}
	if err := x.compare([2][]*profile.Profile{older, newer}); err != nil {
		x.Close()
		return nil, err
	}
	return x, nil
}

// Close releases the memory.
func (x *Difference) Close() {
	for _, d := range slices.Concat([]*data{x.old, x.new}, x.runs[0], x.runs[1]) {
		if d != nil {
			d.Close()
		}
	}
}

func (x *Difference) compare(sides [2][]*profile.Profile) error {
	for i, d := range []**data{&x.old, &x.new} {
		sum, err := sumOfRuns(sides[i])
		if err == nil {
			*d, err = prepare(sum, x.opts.Options)
		}
		if err == nil {
			x.precision[i], err = wholePrecision(sides[i], x.opts.Value)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", recordingNames[i], err)
		}
	}
	a, b := x.old.Profile.SampleType[x.old.ValueIndex], x.new.Profile.SampleType[x.new.ValueIndex]
	if a.Type != b.Type || a.Unit != b.Unit {
		return fmt.Errorf("the recordings have no common value: %s in %s, %s in %s; --value selects one that both have",
			a.Type, a.Unit, b.Type, b.Unit)
	}
	if len(sides[0])+len(sides[1]) > 2 {
		if err := x.prepareRuns(sides); err != nil {
			return err
		}
	}
	if err := x.setScale([2]int{len(sides[0]), len(sides[1])}); err != nil {
		return err
	}
	x.Whole = x.figure(float64(x.old.Total(x.old.ValueIndex)), float64(x.new.Total(x.new.ValueIndex)))
	x.matchFunctions()
	x.compareRuns()
	for _, d := range slices.Concat([]*data{x.old, x.new}, x.runs[0], x.runs[1]) {
		if err := d.Err(); err != nil {
			return err
		}
	}
	x.markSignificant()
	x.sort()
	return nil
}

const changeCost = 512

var recordingNames = [2]string{"the old recording", "the new recording"}

func sumOfRuns(runs []*profile.Profile) (*profile.Profile, error) {
	if len(runs) == 1 {
		return runs[0], nil
	}
	if len(runs) == 0 {
		return nil, errors.New("no run")
	}
	return profile.Merge(runs)
}

// wholePrecision is that of the sum of runs. Samples depend on each other within a run only.
func wholePrecision(runs []*profile.Profile, value string) (p tabular.Precision, err error) {
	for _, run := range runs {
		of, err := view.WholePrecision(run, value)
		if err != nil {
			return p, err
		}
		p.Total += of.Total
		p.N += of.N
		p.Samples += of.Samples
	}
	return p, nil
}

func (x *Difference) setScale(runs [2]int) error {
	for i, d := range []*data{x.old, x.new} {
		x.scale[i] = 1 / float64(runs[i])
		switch x.opts.Per {
		case "second":
			if d.Profile.DurationNanos <= 0 {
				return fmt.Errorf("--per second: %s has no duration", recordingNames[i])
			}
			x.scale[i] = 1e9 / float64(d.Profile.DurationNanos)
		case "share":
			x.scale[i] = 1 / max(1, float64(d.Total(d.ValueIndex)))
		}
	}
	return nil
}

func (x *Difference) matchFunctions() {
	same := view.Counterparts(x.old.Data, x.new.Data)
	at := map[view.Frame]view.Row{}
	var gone []view.Frame
	for _, r := range x.old.Rows(x.old.Profile.Sample) {
		f := same[x.old.Frames[r.Frame]]
		was := at[f]
		at[f] = view.Row{Self: was.Self + r.Self, Total: was.Total + r.Total}
		gone = append(gone, f)
	}
	for _, r := range x.new.Rows(x.new.Profile.Sample) {
		f := x.new.Frames[r.Frame]
		x.add(&f, at[f], r)
		delete(at, f)
	}
	for _, f := range gone {
		if r, ok := at[f]; ok {
			x.add(&f, r, view.Row{})
			delete(at, f)
		}
	}
}

func (x *Difference) add(f *view.Frame, before, after view.Row) {
	if !x.new.Take(changeCost) {
		return
	}
	x.Changes = append(x.Changes, Change{
		Name: f.Name, Module: f.Module, File: f.File, Line: f.Line,
		Self:  x.figure(float64(before.Self), float64(after.Self)),
		Total: x.figure(float64(before.Total), float64(after.Total)),
		frame: *f,
	})
}

// figure scales two values, and estimates their difference's sampling error.
func (x *Difference) figure(before, after float64) ComparedValue {
	f := ComparedValue{Old: before * x.scale[0], New: after * x.scale[1]}
	if x.unreported() {
		return f
	}
	value := [2]float64{f.Old, f.New}
	same := x.pooledMean(value)
	was, is := x.precision[0].Total*x.scale[0], x.precision[1].Total*x.scale[1]
	f.wholeNoise = min(1, (f.Old+f.New)/(was+is)) * max(-maxSpreadBetweenRuns*was, min(is-was, maxSpreadBetweenRuns*was))
	if before == x.precision[0].Total && after == x.precision[1].Total { // measured by the kernel
		return f
	}
	for i := range x.precision {
		whole := x.precision[i].Total * x.scale[i]
		within, chance := whole*x.precision[i].Margin(value[i]/whole), whole*x.precision[i].Err(min(1, same/whole))
		f.Margin, f.nullError = math.Hypot(f.Margin, within), math.Hypot(f.nullError, chance)
	}
	return f
}

func (x *Difference) unreported() bool {
	return slices.ContainsFunc(x.precision[:], func(p tabular.Precision) bool { return p.N <= 0 || p.Total <= 0 })
}

func (x *Difference) pooledMean(value [2]float64) float64 {
	var sum, rates float64
	for i, p := range x.precision {
		n := p.N / (p.Total * x.scale[i]) // samples per unit of the value
		sum, rates = sum+n*value[i], rates+n
	}
	return sum / rates
}

// Untested returns why changes are not tested for significance, or "".
func (x *Difference) Untested() string {
	if x.runs[0] != nil {
		return ""
	}
	for i, name := range recordingNames {
		if x.precision[i].Total <= 0 {
			return fmt.Sprintf("%s has no %s time", name, x.valueName())
		}
	}
	for i, name := range recordingNames {
		if x.precision[i].N <= 0 {
			return name + " has no sample counts"
		}
	}
	for i, name := range recordingNames {
		switch n := x.precision[i].Samples; {
		case n <= 0:
			return fmt.Sprintf("%s has no sample with %s time", name, x.valueName())
		case n < minTestedSamples:
			return fmt.Sprintf("%s has only %s with %s time", name, tabular.Plural(n, "sample"), x.valueName())
		}
	}
	return ""
}

// minTestedSamples is the least number of samples of a recording for a test, which needs about five on each side of a
// share. Runs with fewer take milliseconds, and differ as a whole from one to the next.
const minTestedSamples = 10

// ExceedsUntested reports that changes may exceed a limit without a test: a profile has time and no sample counts, or
// the old one has no time and the new one enough samples.
func (x *Difference) ExceedsUntested() bool {
	older, newer := &x.precision[0], &x.precision[1]
	uncounted := older.Total > 0 && older.N == 0 || newer.Total > 0 && newer.N == 0
	return x.runs[0] == nil && (uncounted || older.Total <= 0 && newer.Samples >= minTestedSamples)
}

// isReported reports whether a change is shown: it is significant, or cannot be tested.
func (x *Difference) isReported(f *ComparedValue) bool {
	return f.Significant || x.Untested() != "" && math.Abs(f.Delta()) > rounding*math.Abs(f.New)
}

// markSignificant marks the significant changes. With several runs, half of the chance of a false alarm is for the test
// of the whole, half for the functions.
func (x *Difference) markSignificant() {
	if x.Untested() != "" {
		return
	}
	if x.runs[0] == nil {
		bound := significanceBound(2 * len(x.Changes))
		for i := range x.Changes {
			x.Changes[i].Self.setSignificant(bound)
			x.Changes[i].Total.setSignificant(bound)
		}
		return
	}
	tests := 0
	for i := range x.Changes {
		for _, f := range []*ComparedValue{&x.Changes[i].Self, &x.Changes[i].Total} {
			if !f.rare {
				tests++
			}
		}
	}
	bound := tabular.StudentBound(significanceLevel/2/float64(max(tests, 1)), x.degreesOfFreedom())
	for i := range x.Changes {
		for _, f := range []*ComparedValue{&x.Changes[i].Self, &x.Changes[i].Total} {
			if !f.rare {
				f.setSignificant(bound)
			}
		}
	}
	x.Whole.setSignificant(tabular.StudentBound(significanceLevel/2, x.degreesOfFreedom()))
}

// maxSpreadBetweenRuns is the largest difference of equal loads, as a share of the whole.
const maxSpreadBetweenRuns = 0.1

// setSignificant marks a value as significant if it differs by more than bound standard errors, with and without
// wholeNoise.
func (f *ComparedValue) setSignificant(bound float64) {
	least := bound * f.nullError
	f.Significant = math.Abs(f.Delta()) > least && math.Abs(f.Delta()-f.wholeNoise) > least+rounding*math.Abs(f.New)
}

const rounding = 1e-9

// significanceBound returns the bound for a number of tests, in standard errors.
func significanceBound(tests int) float64 {
	return math.Sqrt2 * math.Erfinv(1-significanceLevel/float64(max(tests, 1)))
}

// sort puts the most slowed function first, the most sped up last.
func (x *Difference) sort() {
	slices.SortStableFunc(x.Changes, func(a, b Change) int {
		return cmp.Or(cmp.Compare(b.Self.Delta(), a.Self.Delta()), cmp.Compare(b.Total.Delta(), a.Total.Delta()),
			cmp.Compare(a.Name, b.Name), cmp.Compare(a.Module, b.Module), cmp.Compare(a.Line, b.Line))
	})
}

// Worst returns the largest significant growth as a share of the old whole, and its subject: the whole (several runs a
// side), or a function's self time; if [Difference.ExceedsUntested], the largest growth. 0: none; infinite: the old
// whole is 0.
func (x *Difference) Worst() (share float64, what string) {
	whole := x.Whole.Old
	if x.opts.Per == "share" {
		whole = 1
	}
	of := func(f *ComparedValue) float64 {
		if whole > 0 {
			return f.Delta() / whole
		}
		return math.Inf(1)
	}
	largest := (*Change)(nil)
	for i := range x.Changes {
		c := &x.Changes[i]
		if c.Self.Delta() <= 0 {
			continue
		}
		if largest == nil || c.Self.Delta() > largest.Self.Delta() {
			largest = c
		}
		if (c.Self.Significant || x.ExceedsUntested()) && of(&c.Self) > share {
			share, what = of(&c.Self), "self time of "+c.Name
		}
	}
	if x.Whole.Significant && x.Whole.Delta() > 0 && of(&x.Whole) > share {
		share, what = of(&x.Whole), "the total"
		if largest != nil && whole > 0 {
			what += fmt.Sprintf(" (largest part: self time of %s, %.1f%%%s)", largest.Name, 100*of(&largest.Self),
				map[bool]string{false: ", alone not significant"}[largest.Self.Significant])
		}
	}
	return share, what
}

func (x *Difference) format(v float64) string {
	unit := x.new.Unit
	switch x.opts.Per {
	case "share":
		return fmt.Sprintf("%.1f%%", 100*v)
	case "second":
		if per, ok := tabular.NanosPer[unit]; ok { // per second of one CPU
			return tabular.Nanos(int64(math.Round(v*per))) + "/s"
		}
		return tabular.Format(int64(math.Round(v)), unit) + "/s"
	}
	return tabular.Format(int64(math.Round(v)), unit)
}

func (x *Difference) signed(v float64) string {
	switch {
	case v < 0:
		return "-" + x.format(-v)
	case v > 0:
		return "+" + x.format(v)
	}
	return x.format(0)
}

func (x *Difference) valueName() string { return x.new.Profile.SampleType[x.new.ValueIndex].Type }

// mismatch says that the recordings differ in length; "" if that does not matter.
func (x *Difference) mismatch() string {
	a, b := float64(x.old.Profile.DurationNanos), float64(x.new.Profile.DurationNanos)
	if x.opts.Per == "run" && a > 0 && b > 0 && max(a, b) > 1.1*min(a, b) {
		return "The recordings differ in length: --per second compares time per second of recording, " +
			"--per share compares percentages."
	}
	return ""
}
