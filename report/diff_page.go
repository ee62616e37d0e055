// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"fmt"
	"io"

	"prywalk/internal/base/tabular"
	"prywalk/internal/show/view"
)

type pageDiff struct {
	// Whole has the recordings' totals in the new one's scale, in the order of the page's values: new, old.
	Whole [2]float64 `json:"whole"`
	// Boxes and Functions are the limits in the graph and in the table.
	Boxes     pageLimits `json:"boxes"`
	Functions pageLimits `json:"functions"`
	// BetweenRuns is the largest difference of equal loads, as a share of the whole.
	BetweenRuns float64 `json:"between_runs"`
	// Verdicts of several runs a side: 1 has grown significantly, -1 has shrunk, of each frame's self and total time, and
	// twice of the whole.
	Verdicts []int `json:"verdicts,omitempty"`
}

// pageLimits are those of [sampleComparison.mark].
type pageLimits struct {
	Bound float64 `json:"bound"`
	Level float64 `json:"level"`
}

func limitsOf(tests int) pageLimits {
	return pageLimits{significanceBound(tests), significanceLevel(tests)}
}

// HTML writes a self-contained page scaled by [DiffOptions].Per: a table, and a flame graph as wide as the larger
// recording, slower boxes red, faster ones blue.
func (d *Difference) HTML(w io.Writer) error {
	joined := d.joinedData()
	page := joined.page()
	page.Title = fmt.Sprintf("%s: old and new", d.new.sum.Summary().Target)
	page.Facts = d.facts()
	page.Comments, page.conclusion = nil, ""
	for _, line := range append([]string{d.verdict()}, d.notes()...) {
		if line != "" {
			page.Comments = append(page.Comments, pageComment{Text: line})
		}
	}
	older, newer := &d.old.precision, &d.new.precision
	page.Effective = []float64{newer.N, older.N}
	page.Diff = &pageDiff{
		Whole:       [2]float64{newer.Total, older.Total * d.oldInNewScale()},
		Boxes:       limitsOf(len(page.Nodes) / 2),
		Functions:   limitsOf(2 * len(d.Changes)),
		BetweenRuns: maxSpreadBetweenRuns,
	}
	if d.old.runs != nil {
		page.Diff.Verdicts = d.verdicts(joined.Table.Frames)
	}
	return joined.Write(w, func(to io.Writer) error { return joined.writePage(to, page) })
}

func (d *Difference) verdicts(frames []view.Frame) (all []int) {
	changes := map[view.Frame]*Change{}
	for i := range d.Changes {
		changes[d.Changes[i].frame] = &d.Changes[i]
	}
	for _, f := range frames {
		if c := changes[f]; c != nil {
			all = append(all, c.Self.verdict(), c.Total.verdict())
		} else {
			all = append(all, 0, 0)
		}
	}
	return append(all, d.Whole.verdict(), d.Whole.verdict())
}

func (v *ComparedValue) verdict() int {
	if !v.Significant {
		return 0
	}
	return cmp.Compare(v.Delta(), 0)
}

// verdict is what the table says, in a line.
func (d *Difference) verdict() string {
	t := diffTable{diff: d, unit: d.unit()}
	text := t.wholeText() + " · " + t.changedText()
	if share, subject := d.LargestGrowth(); share > 0 {
		text += " · " + GrowthText(share, subject)
	}
	return text
}

func (d *Difference) oldInNewScale() float64 { return d.old.scale / d.new.scale }

func (d *Difference) facts() (f [][2]string) {
	for i, s := range d.sides() {
		summary := s.sum.Summary()
		text := fmt.Sprintf("%s, %s", tabular.Nanos(summary.Duration.Nanoseconds()),
			tabular.Plural(summary.Samples, "sample"))
		if start := summary.Start; !start.IsZero() {
			text = start.UTC().Format("2006-01-02 15:04:05 UTC") + ", " + text
		}
		f = append(f, [2]string{[2]string{"old", "new"}[i], text})
	}
	return append(f, [2]string{d.new.value().Type, d.unit().text(d.Whole.Old) + " → " + d.unit().text(d.Whole.New)})
}

func (d *Difference) joinedData() *data {
	return &data{Data: view.Join(d.old.sum.Data, d.new.sum.Data, d.oldInNewScale())}
}
