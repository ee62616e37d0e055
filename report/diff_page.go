// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"

	"prywalk/internal/printable"
	"prywalk/internal/tabular"
	"prywalk/internal/view"
)

type pageDiff struct {
	// Whole is each recording's total in the new one's scale, Samples their number; 0: unknown.
	Whole   [2]float64 `json:"whole"`
	Samples [2]float64 `json:"samples"`
	// Beyond is from how many standard errors a box has changed significantly.
	Beyond float64 `json:"beyond"`
	// BeyondFunctions is that of the table.
	BeyondFunctions float64 `json:"beyond_functions"`
	// BetweenRuns is maxSpreadBetweenRuns.
	BetweenRuns float64 `json:"between_runs"`
}

// HTML writes a self-contained page: a flame graph as wide as the larger recording, slower boxes red, faster ones blue,
// and a table of functions, scaled by [DiffOptions].Per.
func (x *Difference) HTML(w io.Writer) error {
	d := x.joinedData()
	page := d.page()
	page.Title = fmt.Sprintf("%s: old and new", cmp.Or(x.opts.Title, x.new.Summary().Target))
	page.Facts = x.facts()
	note := x.runsNote()
	if x.runs[0] != nil {
		note = "Sums of several runs. Colours show changes beyond sampling noise; prywalk diff tests against the noise " +
			"between runs."
	}
	page.Comments = []pageComment{{Text: note}}
	if line := x.mismatch(); line != "" {
		page.Comments = append(page.Comments, pageComment{Text: line})
	}
	page.Effective = []float64{x.precision[1].N, x.precision[0].N}
	page.Diff = &pageDiff{
		Whole:           [2]float64{x.precision[1].Total, x.precision[0].Total * x.factor()},
		Samples:         [2]float64{x.precision[1].N, x.precision[0].N},
		Beyond:          significanceBound(len(page.Nodes) / 2),
		BeyondFunctions: significanceBound(2 * len(x.Changes)),
		BetweenRuns:     maxSpreadBetweenRuns,
	}
	return d.writePage(w, page)
}

func (x *Difference) factor() float64 { return x.scale[0] / x.scale[1] }

func (x *Difference) facts() (f [][2]string) {
	for i, d := range []*data{x.old, x.new} {
		s := d.Summary()
		text := fmt.Sprintf("%s, %s", tabular.Nanos(s.Duration.Nanoseconds()), tabular.Plural(s.Samples, "sample"))
		if !s.Start.IsZero() {
			text = s.Start.UTC().Format("2006-01-02 15:04:05 UTC") + ", " + text
		}
		f = append(f, [2]string{[2]string{"old", "new"}[i], text})
	}
	return append(f, [2]string{x.valueName(), x.format(x.Whole.Old) + " → " + x.format(x.Whole.New)})
}

func (x *Difference) joinedData() *data { return &data{view.Join(x.old.Data, x.new.Data, x.factor())} }

// Folded writes a line per stack with old and new value, for differential flame graphs.
func (x *Difference) Folded(w io.Writer) error {
	d := x.joinedData()
	sums := map[string][2]int64{}
	var line []byte
	for _, s := range d.Profile.Sample {
		if s.Value[0] == 0 && s.Value[1] == 0 {
			continue
		}
		line = d.fold(line[:0], s)
		v, ok := sums[string(line)]
		if !ok && !d.Take(int64(len(line))+foldedCost) {
			break
		}
		sums[string(line)] = [2]int64{v[0] + s.Value[1], v[1] + s.Value[0]}
	}
	out := printable.NewWriter(d.Writer(w))
	for _, l := range slices.Sorted(maps.Keys(sums)) {
		out.Printf("%s %d %d\n", l, sums[l][0], sums[l][1])
	}
	return cmp.Or(d.Err(), out.Err())
}
