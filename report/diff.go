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
var ErrPer = errors.New("not a way to compare")

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
	// Sure: sampling alone would hardly have made it, see [Diff].
	Sure bool

	chance float64 // the standard error that the change would have if there were none
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

	old, new *data
	opts     DiffOptions
	scale    [2]float64           // what a value of the profile counts
	prec     [2]tabular.Precision // of the whole recordings
}

// falsely is the probability that a comparison of two recordings of the same load calls any change sure.
const falsely = 0.05

// Diff compares two profiles, function by function. Functions are the same if their names and modules are. Where a
// name is in one module only in each, as after a library's new version, the module does not matter.
//
// The kernel counts the whole of a recording; a function has a share of it, with the standard error that
// [tabular.Precision] gives. A change is sure where it is larger than both recordings' errors explain if their values
// were the same, estimated of both (the score test). The bound is the normal distribution's quantile for 5 % in all
// functions together (Bonferroni). What differs from run to run for other reasons than sampling is not in it:
// two recordings cannot tell.
func Diff(older, newer *profile.Profile, o DiffOptions) (*Difference, error) {
	per := cmp.Or(o.Per, "run")
	if !slices.Contains(Pers(), per) {
		return nil, fmt.Errorf("%w: --per is run, second or share, not %q", ErrPer, per)
	}
	o.Per = per
	x := &Difference{opts: o}
	var err error
	if x.old, err = prepare(older, o.Options); err != nil {
		return nil, fmt.Errorf("the earlier recording: %w", err)
	}
	if x.new, err = prepare(newer, o.Options); err != nil {
		return nil, fmt.Errorf("the later recording: %w", err)
	}
	a, b := x.old.Profile.SampleType[x.old.Value], x.new.Profile.SampleType[x.new.Value]
	if a.Type != b.Type || a.Unit != b.Unit {
		return nil, fmt.Errorf("one recording has %s in %s, the other %s in %s; --value chooses what both have",
			a.Type, a.Unit, b.Type, b.Unit)
	}
	if err := x.setScale(); err != nil {
		return nil, err
	}
	for i, p := range []*profile.Profile{older, newer} {
		if x.prec[i], err = view.WholePrecision(p, o.Value); err != nil {
			return nil, err
		}
	}
	x.Whole = x.figure(float64(x.old.Total(x.old.Value)), float64(x.new.Total(x.new.Value)))
	x.pair()
	x.judge()
	x.sort()
	return x, nil
}

// setScale finds what the values of each profile are to be multiplied by.
func (x *Difference) setScale() error {
	for i, d := range []*data{x.old, x.new} {
		x.scale[i] = 1
		switch x.opts.Per {
		case "second":
			if d.Profile.DurationNanos <= 0 {
				return fmt.Errorf("--per second: the %s recording does not tell how long it was", [2]string{"earlier", "later"}[i])
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
	old := x.old.Rows(x.old.Profile.Sample)
	at, byName := map[view.Frame]int{}, map[view.Frame][]int{}
	for i, r := range old {
		f := x.old.Frames[r.Frame]
		at[f] = i
		byName[f.Anywhere()] = append(byName[f.Anywhere()], i)
	}
	rows := x.new.Rows(x.new.Profile.Sample)
	names := map[view.Frame]int{}
	for _, r := range rows {
		names[x.new.Frames[r.Frame].Anywhere()]++
	}
	used := make([]bool, len(old))
	for _, r := range rows {
		f := x.new.Frames[r.Frame]
		i, ok := at[f]
		if same := byName[f.Anywhere()]; !ok && !f.Nameless && !f.Synthetic() && len(same) == 1 && names[f.Anywhere()] == 1 {
			i, ok = same[0], true
		}
		was := view.Row{}
		if ok {
			was, used[i] = old[i], true
		}
		x.add(&f, was, r)
	}
	for i, r := range old {
		if !used[i] {
			f := x.old.Frames[r.Frame]
			x.add(&f, r, view.Row{})
		}
	}
}

func (x *Difference) add(f *view.Frame, before, after view.Row) {
	x.Changes = append(x.Changes, Change{
		Name: f.Name, Module: f.Module, File: f.File, Line: f.Line,
		Self:  x.figure(float64(before.Self), float64(after.Self)),
		Total: x.figure(float64(before.Total), float64(after.Total)),
	})
}

// figure scales two values of the profiles, and estimates how far sampling may have put their difference off.
func (x *Difference) figure(before, after float64) Figure {
	f := Figure{Old: before * x.scale[0], New: after * x.scale[1]}
	if x.untold() || before == x.prec[0].Total && after == x.prec[1].Total { // all of it is what the kernel counted
		return f
	}
	value := [2]float64{f.Old, f.New}
	same := x.ifTheSame(value)
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

// judge says which changes are sure. Self and total of each function are looked at.
func (x *Difference) judge() {
	tests := 2 * len(x.Changes)
	for i := range x.Changes {
		x.Changes[i].Self.judge(tests)
		x.Changes[i].Total.judge(tests)
	}
	x.Whole.judge(1)
}

// judge says whether a change, one of so many that are looked at, is sure.
func (f *Figure) judge(tests int) {
	f.Sure = f.Delta() != 0 && math.Abs(f.Delta()) > beyondChance(tests)*f.chance
}

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

// Worst gives by how much of the earlier whole the chosen values grew at most: all together, or one function with what
// it calls, or by itself. name says which. Only sure changes count; 0 if nothing grew.
func (x *Difference) Worst() (share float64, name string) {
	whole := x.Whole.Old
	if x.opts.Per == "share" {
		whole = 1
	}
	take := func(f Figure, of string) {
		s := math.Inf(1)
		if whole > 0 {
			s = f.Delta() / whole
		}
		if f.Sure && f.Delta() > 0 && s > share {
			share, name = s, of
		}
	}
	take(x.Whole, "all together")
	for i := range x.Changes {
		c := &x.Changes[i]
		take(c.Self, c.Name+" itself")
		take(c.Total, c.Name+" with what it calls")
	}
	return share, name
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
		return "The recordings differ in length: with --per second they are compared by what a second used, " +
			"with --per share by shares."
	}
	for i, name := range []string{"earlier", "later"} {
		if x.prec[i].Total == 0 {
			return fmt.Sprintf("The %s recording has no %s time: no change is known to be more than chance.", name,
				x.valueName())
		}
	}
	if x.untold() {
		return "The profiles do not tell their samples: no change is known to be more than chance."
	}
	return ""
}
