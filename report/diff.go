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

// ErrPer reports that [DiffOptions].Per is none of [Pers].
var ErrPer = errors.New("invalid --per")

// Pers are the ways in which two recordings can be compared. It is by what a function used in the whole recording,
// in a second of it, or as a share of the whole.
func Pers() []string { return []string{"run", "second", "share"} }

// DiffOptions choose what of two profiles is compared, and how.
type DiffOptions struct {
	Options
	// Per is one of [Pers]; empty: run.
	Per string
	// All shows every function, also those whose change the samples' error explains.
	All bool
}

// Change is what became of one function.
type Change struct {
	Name, Module string
	File         string // only where lines are told apart
	Line         int
	Self, Total  Figure
}

// Figure is a value in two profiles, in the profile's unit (per second of the recording, or as a share of 1, where that
// was asked for).
type Figure struct {
	Old, New float64
	// Within is how far sampling may have put the change off, either way, with 95 % confidence. 0 if it did not, or if a
	// profile does not tell its samples.
	Within float64
	// Sure: chance alone would hardly have made it, see [Diff] and [DiffRuns].
	Sure bool

	chance  float64 // the standard error that the change would have if there were none
	ofWhole float64 // its part of a change of the whole that one run a side cannot tell from noise between runs
	rare    bool    // too little on both sides to be tested, where there are several runs
}

// Delta is the change.
func (f Figure) Delta() float64 { return f.New - f.Old }

// Difference is what two profiles differ in.
type Difference struct {
	// Changes has every function of either profile: those that became slower first, the most first.
	Changes []Change
	// Whole is that of all functions together. The kernel counts it, so it has no error of sampling, unless only some
	// samples were chosen.
	Whole Figure

	old, new *data      // of several runs their sum
	runs     [2][]*data // of each side; nil where there is one of each
	opts     DiffOptions
	scale    [2]float64           // what a value of the profile counts
	prec     [2]tabular.Precision // of the whole recordings
}

// falsely is the probability that a comparison of two recordings of the same load calls any change sure.
const falsely = 0.05

// Diff compares two profiles, function by function. [view.Counterparts] says which functions are the same.
//
// The kernel counts the whole of a recording; a function has a share of it, with the standard error that
// [tabular.Precision] gives. A change is sure where it is larger than both recordings' errors explain if their values
// were the same, estimated of both (the score test). The bound is the normal distribution's quantile for 5 % in all
// functions together (Bonferroni). What differs from run to run for other reasons than sampling is not in it: two
// recordings cannot tell, so the whole is never sure, and a change of the whole by up to a tenth is taken for such a
// difference, in which each function has its share. [DiffRuns] can tell.
func Diff(older, newer *profile.Profile, o DiffOptions) (*Difference, error) {
	return DiffRuns([]*profile.Profile{older}, []*profile.Profile{newer}, o)
}

// DiffRuns compares several runs a side. The unit is the run: what differs between runs of one side is the error, see
// [Difference.between]. With one run on both sides it is [Diff].
func DiffRuns(older, newer []*profile.Profile, o DiffOptions) (*Difference, error) {
	per := cmp.Or(o.Per, "run")
	if !slices.Contains(Pers(), per) {
		return nil, fmt.Errorf("%w %q: choose run, second or share", ErrPer, per)
	}
	o.Per = per
	x := &Difference{opts: o}
	if err := x.compare([2][]*profile.Profile{older, newer}); err != nil {
		x.Close()
		return nil, err
	}
	return x, nil
}

// Close gives the memory back that the difference has of the process's budget.
func (x *Difference) Close() {
	for _, d := range slices.Concat([]*data{x.old, x.new}, x.runs[0], x.runs[1]) {
		if d != nil {
			d.Close()
		}
	}
}

// compare prepares the profiles and fills in the changes.
func (x *Difference) compare(sides [2][]*profile.Profile) error {
	for i, d := range []**data{&x.old, &x.new} {
		sum, err := side(sides[i])
		if err == nil {
			*d, err = prepare(sum, x.opts.Options)
		}
		if err == nil {
			x.prec[i], err = view.WholePrecision(sum, x.opts.Value)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", sideNames[i], err)
		}
	}
	a, b := x.old.Profile.SampleType[x.old.Value], x.new.Profile.SampleType[x.new.Value]
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
	x.Whole = x.figure(float64(x.old.Total(x.old.Value)), float64(x.new.Total(x.new.Value)))
	x.pair()
	x.compareRuns()
	for _, d := range slices.Concat([]*data{x.old, x.new}, x.runs[0], x.runs[1]) {
		if err := d.Err(); err != nil {
			return err
		}
	}
	x.judge()
	x.sort()
	return nil
}

// changeCost is what a change takes, in bytes.
const changeCost = 512

// sideNames are what errors call the two sides.
var sideNames = [2]string{"the old recording", "the new recording"}

// side is the profile of all runs of a side.
func side(runs []*profile.Profile) (*profile.Profile, error) {
	if len(runs) == 1 {
		return runs[0], nil
	}
	if len(runs) == 0 {
		return nil, errors.New("no run")
	}
	return profile.Merge(runs)
}

// setScale finds what the values of each profile are to be multiplied by.
func (x *Difference) setScale(runs [2]int) error {
	for i, d := range []*data{x.old, x.new} {
		x.scale[i] = 1 / float64(runs[i])
		switch x.opts.Per {
		case "second":
			if d.Profile.DurationNanos <= 0 {
				return fmt.Errorf("--per second: %s has no duration", sideNames[i])
			}
			x.scale[i] = 1e9 / float64(d.Profile.DurationNanos)
		case "share":
			x.scale[i] = 1 / max(1, float64(d.Total(d.Value)))
		}
	}
	return nil
}

// pair finds the functions that are the same in both.
func (x *Difference) pair() {
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
	})
}

// figure scales two values of the profiles, and estimates how far sampling may have put their difference off.
func (x *Difference) figure(before, after float64) Figure {
	f := Figure{Old: before * x.scale[0], New: after * x.scale[1]}
	if x.untold() {
		return f
	}
	value := [2]float64{f.Old, f.New}
	same := x.ifTheSame(value)
	was, is := x.prec[0].Total*x.scale[0], x.prec[1].Total*x.scale[1]
	f.ofWhole = min(1, 2*same/(was+is)) * max(-mostBetweenRuns*was, min(is-was, mostBetweenRuns*was))
	if before == x.prec[0].Total && after == x.prec[1].Total { // all of it is what the kernel counted
		return f
	}
	for i := range x.prec {
		whole := x.prec[i].Total * x.scale[i]
		within, chance := whole*x.prec[i].Margin(value[i]/whole), whole*x.prec[i].Err(min(1, same/whole))
		f.Within, f.chance = math.Hypot(f.Within, within), math.Hypot(f.chance, chance)
	}
	return f
}

// untold reports whether a profile does not tell its samples, or has none.
func (x *Difference) untold() bool {
	return slices.ContainsFunc(x.prec[:], func(p tabular.Precision) bool { return p.N <= 0 || p.Total <= 0 })
}

// ifTheSame estimates what both values are if nothing has changed: their mean, weighed by the samples of each.
func (x *Difference) ifTheSame(value [2]float64) float64 {
	var sum, weight float64
	for i, p := range x.prec {
		n := p.N / (p.Total * x.scale[i]) // samples for each unit of the value
		sum, weight = sum+n*value[i], weight+n
	}
	return sum / weight
}

// judge says which changes are sure. Self and total of each function are looked at. Chance alone makes one of them
// sure in at most one comparison of twenty. With several runs a side half of that is for the whole.
func (x *Difference) judge() {
	if x.runs[0] == nil {
		bound := beyondChance(2 * len(x.Changes))
		for i := range x.Changes {
			x.Changes[i].Self.judge(bound)
			x.Changes[i].Total.judge(bound)
		}
		return
	}
	tests := 0
	for i := range x.Changes {
		for _, f := range []*Figure{&x.Changes[i].Self, &x.Changes[i].Total} {
			if !f.rare {
				tests++
			}
		}
	}
	bound := tabular.StudentBound(falsely/2/float64(max(tests, 1)), x.freedom())
	for i := range x.Changes {
		for _, f := range []*Figure{&x.Changes[i].Self, &x.Changes[i].Total} {
			if !f.rare {
				f.judge(bound)
			}
		}
	}
	x.Whole.judge(tabular.StudentBound(falsely/2, x.freedom()))
}

// mostBetweenRuns is by which part of it the whole may differ between two runs of the same load. One run a side does
// not show by how much it does.
const mostBetweenRuns = 0.1

// judge says whether a change is sure: larger than so many standard errors, also without its part of the change of the
// whole.
func (f *Figure) judge(bound float64) {
	least := bound * f.chance
	f.Sure = math.Abs(f.Delta()) > least && math.Abs(f.Delta()-f.ofWhole) > least+rounding*math.Abs(f.New)
}

// rounding is what arithmetic may be off by.
const rounding = 1e-9

// beyondChance is how many standard errors a change has to be to be called sure, if so many are looked at. In one
// comparison of twenty chance alone makes one of them so large.
func beyondChance(tests int) float64 {
	return math.Sqrt2 * math.Erfinv(1-falsely/float64(max(tests, 1)))
}

// sort puts what became slower first, the most first, and what became faster last, the most last.
func (x *Difference) sort() {
	slices.SortStableFunc(x.Changes, func(a, b Change) int {
		return cmp.Or(cmp.Compare(b.Self.Delta(), a.Self.Delta()), cmp.Compare(b.Total.Delta(), a.Total.Delta()),
			cmp.Compare(a.Name, b.Name), cmp.Compare(a.Module, b.Module), cmp.Compare(a.Line, b.Line))
	})
}

// Worst gives by how much of the earlier whole the chosen values grew at most, and what did: the whole, where there are
// several runs a side, or one function by itself. Only sure changes count; 0 if nothing grew. Functions that call what
// grew are not named, as all outer ones do; the one whose own time grew most is, also where only the whole is sure.
func (x *Difference) Worst() (share float64, what string) {
	whole := x.Whole.Old
	if x.opts.Per == "share" {
		whole = 1
	}
	of := func(f Figure) float64 {
		if whole > 0 {
			return f.Delta() / whole
		}
		return math.Inf(1)
	}
	most := (*Change)(nil)
	for i := range x.Changes {
		c := &x.Changes[i]
		if c.Self.Delta() > 0 && (most == nil || c.Self.Delta() > most.Self.Delta()) {
			most = c
		}
		if c.Self.Sure && c.Self.Delta() > 0 && of(c.Self) > share {
			share, what = of(c.Self), "self time of "+c.Name
		}
	}
	if x.Whole.Sure && x.Whole.Delta() > 0 && of(x.Whole) > share {
		share, what = of(x.Whole), "the total"
		if most != nil {
			what += fmt.Sprintf(" (mostly self time of %s, by %.1f%%)", most.Name, 100*of(most.Self))
		}
	}
	return share, what
}

// format writes a value as its unit and Per have it.
func (x *Difference) format(v float64) string {
	unit := x.new.Unit
	switch x.opts.Per {
	case "share":
		return fmt.Sprintf("%.1f%%", 100*v)
	case "second":
		if per, ok := tabular.NanosPer[unit]; ok { // time a second: of one processor, for cpu
			return tabular.Nanos(int64(math.Round(v*per))) + "/s"
		}
		return tabular.Format(int64(math.Round(v)), unit) + "/s"
	}
	return tabular.Format(int64(math.Round(v)), unit)
}

// signed is format with its sign.
func (x *Difference) signed(v float64) string {
	switch {
	case v < 0:
		return "-" + x.format(-v)
	case v > 0:
		return "+" + x.format(v)
	}
	return x.format(0)
}

// valueName is the type of the compared values.
func (x *Difference) valueName() string { return x.new.Profile.SampleType[x.new.Value].Type }

// unlike says what makes the two recordings hard to compare, "" if nothing does.
func (x *Difference) unlike() string {
	a, b := float64(x.old.Profile.DurationNanos), float64(x.new.Profile.DurationNanos)
	if x.opts.Per == "run" && a > 0 && b > 0 && max(a, b) > 1.1*min(a, b) {
		return "The recordings differ in length: --per second compares time per second of recording, " +
			"--per share compares percentages."
	}
	for i, name := range []string{"earlier", "later"} {
		if x.prec[i].Total == 0 {
			return fmt.Sprintf("The %s recording has no %s time: changes cannot be tested for significance.", name,
				x.valueName())
		}
	}
	if x.untold() {
		return "The profiles have no sample counts: changes cannot be tested for significance."
	}
	return ""
}
