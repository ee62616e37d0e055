// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/google/pprof/profile"

	"prywalk/internal/base/statistics"
	"prywalk/internal/show/view"
)

// ErrNormalization reports a [DiffOptions].Per that is not one of [Normalizations].
var ErrNormalization = errors.New("invalid --per")

// Normalizations returns the units of comparison: per recording, per second, as a share of the whole.
func Normalizations() []string { return []string{"run", "second", "share"} }

// DiffOptions select what is compared, and how.
type DiffOptions struct {
	Options
	// Per is one of [Normalizations]; "" is "run".
	Per string
	// All includes changes that are not significant.
	All bool
}

// Change is the change of a function.
type Change struct {
	Name, Module string
	File         string // with --lines
	Line         int
	Self, Total  ComparedValue

	frame view.Frame // of the new side, or what [view.Counterparts] has for one of the old side only
}

// ComparedValue is a value in two profiles: in their unit, per second, or as a share of 1.
type ComparedValue struct {
	Old, New float64
	// Margin is half of the 95 % interval of the change, of all values together: what a change must exceed to be
	// significant, or 0 if that is unknown.
	Margin float64
	// Significant reports a change beyond the noise ([Diff], [DiffRuns]).
	Significant bool

	tested       bool
	errorIfEqual float64 // standard error without a change
	// partOfWholesChange is the value's change if the whole's change, up to a tenth of the old whole, were spread by size.
	partOfWholesChange float64

	// of several runs a side
	runs    statistics.Deviations
	mean    float64 // of all runs
	squares float64 // sum of the squared differences from the sides' means
}

// Delta is New − Old.
func (v ComparedValue) Delta() float64 { return v.New - v.Old }

// Difference is a comparison.
type Difference struct {
	// Changes has all functions, the most slowed first.
	Changes []Change
	// Whole is the sum of all functions, measured by the kernel: without sampling error unless samples were selected.
	Whole ComparedValue

	old, new side
	opts     DiffOptions
	test     comparison
}

// Diff compares two profiles by function ([view.Counterparts]).
//
// The standard error of a function's share is that of [view.Selection.PrecisionOf], which counts fewer samples for
// threads in lockstep. It is too small for programs with long phases in random order. A change is significant by a
// score test: it exceeds the error that both sides would have if their values were equal. One of few samples, of at
// most half of a whole, passes Fisher's exact test of the numbers of samples, too ([statistics.FisherTail]). The error
// rate is 5 % over the self and total values of all functions (Bonferroni). All other noise is unknown. Therefore
// the whole is never significant, and a function's share of the whole's change, up to a tenth of the whole, counts as
// noise. The caller closes the result.
func Diff(older, newer *profile.Profile, o DiffOptions) (*Difference, error) {
	return DiffRuns([]*profile.Profile{older}, []*profile.Profile{newer}, o)
}

// DiffRuns compares several runs a side. The unit is the run: data layout, load and frequency differ between runs. The
// whole is tested by Student's two-sample test with common variance, functions by [statistics.RotationBound]: a
// function's variance is the mean of what its runs show (few degrees of freedom) and of what is expected, that of
// sampling and the usual scatter of the other functions. Each of both tests has half of the error rate of 5 %.
// Functions that are small on both sides together are not tested. With one run a side DiffRuns is [Diff]. The caller
// closes the result.
func DiffRuns(older, newer []*profile.Profile, o DiffOptions) (*Difference, error) {
	o.Per = cmp.Or(o.Per, "run")
	if !slices.Contains(Normalizations(), o.Per) {
		return nil, fmt.Errorf("%w %q: choose run, second or share", ErrNormalization, o.Per)
	}
	d := &Difference{opts: o, old: side{name: "the old recording"}, new: side{name: "the new recording"}}
	if err := d.compare(older, newer); err != nil {
		d.Close()
		return nil, err
	}
	return d, nil
}

// Close releases the memory.
func (d *Difference) Close() {
	for _, s := range d.sides() {
		s.close()
	}
}

func (d *Difference) sides() [2]*side { return [2]*side{&d.old, &d.new} }

func (d *Difference) compare(older, newer []*profile.Profile) error {
	if err := d.prepare(older, newer); err != nil {
		return err
	}
	d.Whole = d.test.whole()
	d.compareFunctions()
	for _, s := range d.sides() {
		if err := s.memoryErr(); err != nil {
			return err
		}
	}
	d.test.mark(&d.Whole, d.Changes)
	d.sort()
	return nil
}

func (d *Difference) prepare(older, newer []*profile.Profile) error {
	if err := cmp.Or(d.old.readSum(older, d.opts.Options), d.new.readSum(newer, d.opts.Options)); err != nil {
		return err
	}
	if a, b := d.old.value(), d.new.value(); a.Type != b.Type || a.Unit != b.Unit {
		return fmt.Errorf("the recordings have no common value: %s in %s, %s in %s; --value selects one that both have",
			a.Type, a.Unit, b.Type, b.Unit)
	}
	several := len(older)+len(newer) > 2
	if several {
		if err := cmp.Or(d.old.readRuns(older, &d.opts), d.new.readRuns(newer, &d.opts)); err != nil {
			return err
		}
	}
	if err := cmp.Or(d.old.setScale(d.opts.Per, len(older)), d.new.setScale(d.opts.Per, len(newer))); err != nil {
		return err
	}
	sums := sampleComparison{&d.old, &d.new}
	if d.test = sums; several {
		d.test = newMeanComparison(sums, d.opts.Per)
	}
	return nil
}

// Bytes of a change, and in it of a run.
const (
	changeCost = 512
	runCost    = 16
)

func (d *Difference) compareFunctions() {
	older, newer := d.old.sum, d.new.sum
	newerFrame := view.Counterparts(older.Data, newer.Data)
	oldRows := map[view.Frame]view.Row{}
	var oldFrames []view.Frame
	for _, r := range older.Rows(older.Profile.Sample) {
		f := newerFrame[older.Table.Frames[r.Frame]]
		row := oldRows[f]
		oldRows[f] = view.Row{Self: row.Self + r.Self, Total: row.Total + r.Total}
		oldFrames = append(oldFrames, f)
	}
	for _, r := range newer.Rows(newer.Profile.Sample) {
		f := newer.Table.Frames[r.Frame]
		d.addChange(&f, oldRows[f], r)
		delete(oldRows, f)
	}
	for _, f := range oldFrames {
		if row, ok := oldRows[f]; ok {
			d.addChange(&f, row, view.Row{})
			delete(oldRows, f)
		}
	}
}

func (d *Difference) addChange(f *view.Frame, before, after view.Row) {
	if !d.new.sum.Memory.Take(changeCost + runCost*int64(len(d.old.runs)+len(d.new.runs))) {
		return
	}
	c := Change{Name: f.Name, Module: f.Module, File: f.File, Line: f.Line, frame: *f}
	c.Self, c.Total = d.test.function(f, before, after)
	d.Changes = append(d.Changes, c)
}

func (d *Difference) sort() {
	slices.SortStableFunc(d.Changes, func(a, b Change) int {
		return cmp.Or(cmp.Compare(b.Self.Delta(), a.Self.Delta()), cmp.Compare(b.Total.Delta(), a.Total.Delta()),
			cmp.Compare(a.Name, b.Name), cmp.Compare(a.Module, b.Module), cmp.Compare(a.Line, b.Line))
	})
}

// LargestGrowth returns the largest significant growth as a share of the old whole, and its subject: the whole (several
// runs a side) or a function's self time. If [Difference.ExceedsUntested], it need not be significant. 0 means none;
// infinite: the old whole is 0.
func (d *Difference) LargestGrowth() (share float64, subject string) {
	whole := d.Whole.Old
	if d.opts.Per == "share" {
		whole = 1
	}
	shareOf := func(v *ComparedValue) float64 {
		if whole > 0 {
			return v.Delta() / whole
		}
		return math.Inf(1)
	}
	largest := (*Change)(nil)
	for i := range d.Changes {
		c := &d.Changes[i]
		if c.Self.Delta() <= 0 {
			continue
		}
		if largest == nil || c.Self.Delta() > largest.Self.Delta() {
			largest = c
		}
		if (c.Self.Significant || d.ExceedsUntested()) && shareOf(&c.Self) > share {
			share, subject = shareOf(&c.Self), "self time of "+c.Name
		}
	}
	if d.Whole.Significant && d.Whole.Delta() > 0 && shareOf(&d.Whole) > share {
		share, subject = shareOf(&d.Whole), "the total"
		if largest != nil && whole > 0 {
			note := ", alone not significant"
			if largest.Self.Significant {
				note = ""
			}
			subject += fmt.Sprintf(" (largest part: self time of %s, %.1f%%%s)", largest.Name, 100*shareOf(&largest.Self), note)
		}
	}
	return share, subject
}

// GrowthText says what [Difference.LargestGrowth] returns.
func GrowthText(share float64, subject string) string {
	if math.IsInf(share, 1) {
		return subject + " grew from an old total of 0"
	}
	return fmt.Sprintf("%s grew by %.1f%% of the old total", subject, 100*share)
}

// Untested returns why changes are not tested for significance, or "".
func (d *Difference) Untested() string { return d.test.untested() }

// ExceedsUntested reports that changes may exceed a limit without a test: a profile has time and no sample counts, or
// only the new one has time and enough samples.
func (d *Difference) ExceedsUntested() bool { return d.test.exceedsUntested() }

func (d *Difference) isReported(v *ComparedValue) bool {
	return v.Significant || d.Untested() != "" && math.Abs(v.Delta()) > rounding*math.Abs(v.New)
}
