// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"prywalk/internal/base/printable"
	"prywalk/internal/base/tabular"
	"prywalk/internal/show/view"
)

// Table writes the functions that became slower or faster: significant and untested changes, or all with
// [DiffOptions].All.
func (d *Difference) Table(w io.Writer) error {
	return d.new.sum.Write(w, func(to io.Writer) error {
		t := diffTable{d, d.unit(), printable.NewWriter(to)}
		t.heading()
		slower, faster, onlyTotalChanged := d.sections()
		t.section("slower", slower, selfOf)
		t.section("faster", faster, selfOf)
		t.section("changed by what they call", onlyTotalChanged, totalOf)
		if len(slower)+len(faster)+len(onlyTotalChanged) == 0 {
			significant := ""
			if t.diff.Untested() == "" {
				significant = "significant "
			}
			t.out.Printf("No %schange; --all lists every function.\n", significant)
		}
		return t.out.Err()
	})
}

func (d *Difference) sections() (slower, faster, onlyTotalChanged []*Change) {
	for i := range d.Changes {
		c := &d.Changes[i]
		switch {
		case (d.isReported(&c.Self) || d.opts.All) && c.Self.Delta() > 0:
			slower = append(slower, c)
		case (d.isReported(&c.Self) || d.opts.All) && c.Self.Delta() < 0:
			faster = append(faster, c)
		case (d.isReported(&c.Total) || d.opts.All) && c.Total.Delta() != 0:
			onlyTotalChanged = append(onlyTotalChanged, c)
		}
	}
	slices.Reverse(faster)
	slices.SortStableFunc(onlyTotalChanged, func(a, b *Change) int {
		return cmp.Compare(math.Abs(b.Total.Delta()), math.Abs(a.Total.Delta()))
	})
	return slower, faster, onlyTotalChanged
}

func (d *Difference) notes() []string {
	return []string{d.hiddenIntervals(), d.mismatch(), d.test.note(), d.FoundGrowth()}
}

func (d *Difference) hiddenIntervals() string {
	older, newer := d.old.sum.hiddenIntervals(), d.new.sum.hiddenIntervals()
	if older == newer {
		return older
	}
	return "old: " + cmp.Or(older, "no interval hidden") + "; new: " + cmp.Or(newer, "no interval hidden")
}

func (d *Difference) mismatch() string {
	a, b := d.old.meanDuration(), d.new.meanDuration()
	if d.opts.Per == "run" && a > 0 && b > 0 && max(a, b) > 1.1*min(a, b) {
		return "The recordings differ in length: --per second compares time per second of recording, " +
			"--per share compares percentages."
	}
	return ""
}

type diffTable struct {
	diff *Difference
	unit diffUnit
	out  *printable.Writer
}

func (t *diffTable) heading() {
	width := t.diff.opts.Width
	for i, s := range t.diff.sides() {
		t.out.Printf("%s\n", tabular.Wrap(width, " · ", s.heading([2]string{"old", "new"}[i])...))
	}
	t.out.Printf("%s\n", t.diff.new.sum.paint(bold, tabular.Wrap(width, " · ", t.wholeText(), t.changedText())))
	for _, note := range t.diff.notes() {
		if note != "" {
			t.out.Printf("%s\n", tabular.Paragraph(width, "  ", note))
		}
	}
	t.out.Printf("\n")
}

func (s *side) heading(title string) []string {
	summary, coverage := s.sum.Summary(), s.sum.Coverage()
	parts := []string{title + ": " + summary.Target}
	for _, p := range []string{s.sum.span(&summary), coverage.ShareText()} {
		if p != "" {
			parts = append(parts, p)
		}
	}
	parts = append(parts, tabular.Plural(summary.Samples, "sample"))
	if n := len(s.runs); n > 1 {
		parts = append(parts, "sum of "+tabular.Plural(int64(n), "run"))
	}
	return append(parts, summary.Recorded(now())...)
}

func (t *diffTable) wholeText() string {
	value := t.diff.new.value().Type
	if t.diff.opts.Per == "share" {
		return "shares of all " + value
	}
	text := fmt.Sprintf("%s %s → %s", value, t.unit.text(t.diff.Whole.Old), t.unit.text(t.diff.Whole.New))
	if t.diff.Whole.Old > 0 {
		text += fmt.Sprintf(" (%+.1f%%)", 100*t.diff.Whole.Delta()/t.diff.Whole.Old)
	}
	return text
}

func (t *diffTable) changedText() string {
	n := 0
	for i := range t.diff.Changes {
		if t.diff.isReported(&t.diff.Changes[i].Self) || t.diff.isReported(&t.diff.Changes[i].Total) {
			n++
		}
	}
	text := fmt.Sprintf("%s of %s changed", tabular.Thousands(int64(n)),
		tabular.Plural(int64(len(t.diff.Changes)), "function"))
	if t.diff.Untested() == "" {
		text += " significantly"
	}
	return text
}

func (t *diffTable) section(title string, list []*Change, value func(*Change) *ComparedValue) {
	if len(list) == 0 {
		return
	}
	slices.SortStableFunc(list, func(a, b *Change) int { // --all has others
		switch significant := value(a).Significant; {
		case significant == value(b).Significant:
			return 0
		case significant:
			return -1
		}
		return 1
	})
	newer := t.diff.new.sum
	shown := list[:min(len(list), newer.Limit(20))]
	t.out.Printf("%s\n", newer.color(bold, title))
	heads := []string{"self old", "new", "change", "total old", "new", "change", "±"}
	columns := make([][]string, len(heads))
	for i, h := range heads {
		columns[i] = []string{h}
	}
	var frames []*view.Frame
	for _, c := range shown {
		for i, s := range t.cells(c, value(c).Margin) {
			columns[i] = append(columns[i], s)
		}
		frames = append(frames, &c.frame)
	}
	for i := range columns {
		columns[i] = tabular.AlignRight(columns[i], len("change"))
	}
	line := func(row int) string {
		var parts []string
		for _, cells := range columns {
			parts = append(parts, cells[row])
		}
		return strings.Join(parts, " ") + "  "
	}
	head, names := newer.nameColumns(tabular.PrintedWidth(line(0)), frames)
	t.out.Printf("%s\n", newer.color(dim, line(0)+head))
	for i, name := range names {
		t.out.Printf("%s%s\n", line(i+1), name)
	}
	if rest := len(list) - len(shown); rest > 0 {
		t.out.Printf("%s\n", newer.color(dim, "… "+tabular.Plural(int64(rest), "more function")))
	}
	t.out.Printf("\n")
}

func selfOf(c *Change) *ComparedValue { return &c.Self }

func totalOf(c *Change) *ComparedValue { return &c.Total }

func (t *diffTable) cells(c *Change, margin float64) []string {
	u, marginText := t.unit, ""
	if margin > 0 {
		marginText = u.text(margin)
	}
	return []string{
		u.text(c.Self.Old), u.text(c.Self.New), u.signed(c.Self.Delta()),
		u.text(c.Total.Old), u.text(c.Total.New), u.signed(c.Total.Delta()), marginText,
	}
}
