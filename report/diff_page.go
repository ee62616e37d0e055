package report

import (
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/google/pprof/profile"

	"prywalk/internal/tabular"
)

// pageDiff tells the page that its two types of values are of two recordings, new and old.
type pageDiff struct {
	// Whole is all of each recording, in the later one's unit, and Samples what it comes from, 0 if that is not known.
	Whole   [2]float64 `json:"whole"`
	Samples [2]float64 `json:"samples"`
	// Beyond is how many standard errors a change has to be, for none of so many boxes to be called sure by chance.
	Beyond float64 `json:"beyond"`
	// BeyondFunctions is the same for the table of functions.
	BeyondFunctions float64 `json:"beyond_functions"`
}

// HTML writes one page that needs nothing else. It shows a flame graph as wide as the later recording, or the
// earlier. Boxes in it that became slower are red, and faster ones blue. A table of functions is there, too. The
// earlier recording's values are scaled as [DiffOptions].Per says.
func (x *Difference) HTML(w io.Writer) error {
	page := x.joined().page()
	page.Title = fmt.Sprintf("%s: old and new", x.new.opts.title(x.new))
	page.Facts = x.facts()
	page.Comments = nil
	if line := x.unlike(); line != "" {
		page.Comments = []remark{{Text: line}}
	}
	page.Effective = []float64{x.prec[1].N, x.prec[0].N}
	page.Diff = &pageDiff{
		Whole:           [2]float64{x.prec[1].Total, x.prec[0].Total * x.factor()},
		Samples:         [2]float64{x.prec[1].N, x.prec[0].N},
		Beyond:          beyondChance(len(page.Nodes) / 2),
		BeyondFunctions: beyondChance(2 * len(x.Changes)),
	}
	return writePage(w, page)
}

// title is the page's own title, or the target's name.
func (o *Options) title(d *data) string {
	s := d.summary()
	return or(o.Title, s.Target)
}

// factor is what the earlier values are multiplied by to compare with the later ones.
func (x *Difference) factor() float64 { return x.scale[0] / x.scale[1] }

// facts are the figures in the page's head.
func (x *Difference) facts() (f [][2]string) {
	for i, d := range []*data{x.old, x.new} {
		s := d.summary()
		text := fmt.Sprintf("%s, %s", tabular.Nanos(s.Duration.Nanoseconds()), tabular.Plural(s.Samples, "sample"))
		if !s.Start.IsZero() {
			text = s.Start.UTC().Format("2006-01-02 15:04:05 UTC") + ", " + text
		}
		f = append(f, [2]string{[2]string{"old", "new"}[i], text})
	}
	return append(f, [2]string{x.valueName(), x.format(x.Whole.Old) + " → " + x.format(x.Whole.New)})
}

// joined is a profile with the samples of both: the first type of values is of the later recording, the second of the
// earlier. Their threads have other numbers, so only names tell them apart.
func (x *Difference) joined() *data {
	d := *x.new
	p := shallow(d.prof)
	unit := p.SampleType[x.new.value].Unit
	p.SampleType = []*profile.ValueType{{Type: "new", Unit: unit}, {Type: "old", Unit: unit}}
	p.Comments, p.PeriodType = nil, nil
	d.prof, d.value = p, 0
	d.frames, d.index, d.byLoc = slices.Clone(d.frames), maps.Clone(d.index), maps.Clone(d.byLoc)
	p.Sample = nil
	for _, s := range x.new.prof.Sample {
		p.Sample = append(p.Sample, withoutNumbers(s, s.Value[x.new.value], 0))
	}
	factor := x.factor()
	for _, s := range x.old.prof.Sample {
		p.Sample = append(p.Sample, withoutNumbers(s, 0, int64(float64(s.Value[x.old.value])*factor)))
		for _, l := range s.Location {
			if _, ok := d.byLoc[l]; ok {
				continue
			}
			fs := x.old.location(l)
			for i, f := range fs {
				fs[i] = d.number(x.old.frames[f])
			}
			d.byLoc[l] = fs
		}
	}
	return &d
}

// withoutNumbers is a sample without the numbers of its thread and process.
func withoutNumbers(s *profile.Sample, now, was int64) *profile.Sample {
	return &profile.Sample{Location: s.Location, Label: s.Label, Value: []int64{now, was}}
}

// Folded writes a line for each distinct stack, as [Folded] does, with two values: before and after, as the scripts for
// differential flame graphs read them.
func (x *Difference) Folded(w io.Writer) error {
	d := x.joined()
	sums := map[string][2]int64{}
	var line []byte
	for _, s := range d.prof.Sample {
		if s.Value[0] == 0 && s.Value[1] == 0 {
			continue
		}
		line = d.fold(line[:0], s)
		v := sums[string(line)]
		sums[string(line)] = [2]int64{v[0] + s.Value[1], v[1] + s.Value[0]}
	}
	out := &writer{w: w}
	for _, l := range slices.Sorted(maps.Keys(sums)) {
		out.printf("%s %d %d\n", l, sums[l][0], sums[l][1])
	}
	return out.err
}
