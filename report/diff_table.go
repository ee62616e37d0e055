// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"prywalk/internal/printable"
	"prywalk/internal/schema"
	"prywalk/internal/tabular"
	"prywalk/internal/view"
)

// Table writes functions that became slower and faster: significant and untested changes, or all with
// [DiffOptions].All.
func (x *Difference) Table(w io.Writer) error {
	out := printable.NewWriter(x.new.Writer(w))
	x.heading(out)
	slower, faster, around := x.sections()
	x.writeSection(out, "slower", slower, false)
	x.writeSection(out, "faster", faster, false)
	x.writeSection(out, "changed by what they call", around, true)
	if len(slower)+len(faster)+len(around) == 0 {
		out.Printf("%s\n", x.noChange())
	}
	return cmp.Or(x.new.Err(), out.Err())
}

func (x *Difference) heading(out *printable.Writer) {
	width := x.opts.Width
	for i, d := range []*data{x.old, x.new} {
		s, c := d.Summary(), d.Coverage()
		parts := append([]string{[2]string{"old", "new"}[i] + ": " + s.Target}, s.Parts(d.CoverageText(&c))[1:]...)
		parts = append(parts, tabular.Plural(s.Samples, "sample"))
		if n := len(x.runs[i]); n > 1 {
			parts = append(parts, "sum of "+tabular.Plural(int64(n), "run"))
		}
		if when := s.Recorded(now()); when != "" {
			parts = append(parts, when)
		}
		out.Printf("%s\n", tabular.Wrap(width, " · ", parts...))
	}
	whole := fmt.Sprintf("%s %s → %s", x.valueName(), x.format(x.Whole.Old), x.format(x.Whole.New))
	if x.opts.Per == "share" {
		whole = "shares of all " + x.valueName()
	} else if x.Whole.Old > 0 {
		whole += fmt.Sprintf(" (%+.1f%%)", 100*x.Whole.Delta()/x.Whole.Old)
	}
	n := 0
	for i := range x.Changes {
		if x.isReported(&x.Changes[i].Self) || x.isReported(&x.Changes[i].Total) {
			n++
		}
	}
	changed := fmt.Sprintf("%s of %s changed", tabular.Thousands(int64(n)),
		tabular.Plural(int64(len(x.Changes)), "function"))
	if x.Untested() == "" {
		changed += " significantly"
	}
	out.Printf("%s\n", x.new.paint(bold, tabular.Wrap(width, " · ", whole, changed)))
	for _, line := range []string{x.hiddenStacks(), x.mismatch(), x.runsNote()} {
		if line != "" {
			out.Printf("%s\n", tabular.Paragraph(width, "  ", line))
		}
	}
	out.Printf("\n")
}

func (x *Difference) hiddenStacks() string {
	older, newer := x.old.hiddenStacks(), x.new.hiddenStacks()
	if older == newer {
		return older
	}
	return "old: " + cmp.Or(older, "no stack hidden") + "; new: " + cmp.Or(newer, "no stack hidden")
}

func (x *Difference) noChange() string {
	if x.Untested() != "" {
		return "No change; --all lists every function."
	}
	return "No significant change; --all lists every function."
}

// sections divides the changes: self time grew, self time shrank, only total time changed.
func (x *Difference) sections() (slower, faster, around []*Change) {
	for i := range x.Changes {
		c := &x.Changes[i]
		switch {
		case (x.isReported(&c.Self) || x.opts.All) && c.Self.Delta() > 0:
			slower = append(slower, c)
		case (x.isReported(&c.Self) || x.opts.All) && c.Self.Delta() < 0:
			faster = append(faster, c)
		case (x.isReported(&c.Total) || x.opts.All) && c.Total.Delta() != 0:
			around = append(around, c)
		}
	}
	slices.Reverse(faster)
	slices.SortStableFunc(around, func(a, b *Change) int {
		return cmp.Compare(math.Abs(b.Total.Delta()), math.Abs(a.Total.Delta()))
	})
	return slower, faster, around
}

func (x *Difference) writeSection(out *printable.Writer, title string, list []*Change, total bool) {
	if len(list) == 0 {
		return
	}
	shown := list[:min(len(list), x.new.Limit(20))]
	out.Printf("%s\n", x.new.color(bold, title))
	heads := []string{"self old", "new", "change", "total old", "new", "change", "±"}
	cells := make([][]string, len(heads))
	for i, h := range heads {
		cells[i] = []string{h}
	}
	var frames []*view.Frame
	for _, c := range shown {
		for i, s := range x.cells(c, total) {
			cells[i] = append(cells[i], s)
		}
		frames = append(frames, &c.frame)
	}
	for i := range cells {
		cells[i] = tabular.AlignRight(cells[i], len("change"))
	}
	line := func(n int) string {
		var parts []string
		for i := range cells {
			parts = append(parts, cells[i][n])
		}
		return strings.Join(parts, " ") + "  "
	}
	head, names := x.new.nameColumns(tabular.PrintedWidth(line(0)), frames)
	out.Printf("%s\n", x.new.color(dim, line(0)+head))
	for i, name := range names {
		out.Printf("%s%s\n", line(i+1), name)
	}
	if rest := len(list) - len(shown); rest > 0 {
		out.Printf("%s\n", x.new.color(dim, "… "+tabular.Plural(int64(rest), "more function")))
	}
	out.Printf("\n")
}

// cells returns a row's figures; the last is half of the 95 % interval.
func (x *Difference) cells(c *Change, total bool) []string {
	of, margin := c.Self, ""
	if total {
		of = c.Total
	}
	if of.Margin > 0 {
		margin = x.format(of.Margin)
	}
	return []string{
		x.format(c.Self.Old), x.format(c.Self.New), x.signed(c.Self.Delta()),
		x.format(c.Total.Old), x.format(c.Total.New), x.signed(c.Total.Delta()), margin,
	}
}

type jsonFigure struct {
	Old    float64 `json:"old"`
	New    float64 `json:"new"`
	Within float64 `json:"within"`
	Sure   bool    `json:"sure"`
}

type jsonChange struct {
	Name   string     `json:"name"`
	Module string     `json:"module"`
	File   string     `json:"file,omitempty"`
	Line   int        `json:"line,omitempty"`
	Self   jsonFigure `json:"self"`
	Total  jsonFigure `json:"total"`
}

// jsonDifference is a comparison of two recordings. Its functions are written one by one.
type jsonDifference struct {
	schema.Head
	// Value is the compared clock, Per is run, second or share.
	Value string `json:"value"`
	Per   string `json:"per"`
	// Total is the change of the whole.
	Total jsonFigure `json:"total"`
	// Runs are the numbers of runs: earlier, later.
	Runs [2]int `json:"runs"`
	// Untested is why no change could be tested for significance: sure is false. Absent with a test.
	Untested string `json:"untested,omitempty"`
	// Cut is what --rows left out, absent if nothing.
	Cut *jsonDiffCut `json:"cut,omitempty"`
	// Functions are in the order of their change.
	Functions []jsonChange `json:"functions,omitempty" schema:"required"`
}

type jsonDiffCut struct {
	Functions int `json:"functions"`
}

// JSON writes the difference as one line of JSON: all functions, or [Options].N. Times are in ns, or ns per second;
// shares of 1.
func (x *Difference) JSON(w io.Writer) error {
	f := x.toNanos()
	buf := bufio.NewWriter(x.new.Writer(w))
	out := printable.NewJSONWriter(buf)
	shown := min(len(x.Changes), x.new.Limit(len(x.Changes)))
	head := jsonDifference{
		Value: x.valueName(), Per: x.opts.Per, Total: f(x.Whole),
		Runs: [2]int{max(1, len(x.runs[0])), max(1, len(x.runs[1]))}, Untested: x.Untested(),
	}
	if rest := len(x.Changes) - shown; rest > 0 {
		head.Cut = &jsonDiffCut{rest}
	}
	out.Begin(head, "functions")
	for i := range x.Changes[:shown] {
		c := &x.Changes[i]
		out.Comma(i)
		out.Value(jsonChange{c.Name, c.Module, c.File, c.Line, f(c.Self), f(c.Total)})
	}
	out.Text("]}\n")
	return cmp.Or(x.new.Err(), out.Err(), buf.Flush())
}

func (x *Difference) toNanos() func(ComparedValue) jsonFigure {
	per, ok := tabular.NanosPer[x.new.Unit]
	if !ok || x.opts.Per == "share" {
		per = 1
	}
	return func(f ComparedValue) jsonFigure {
		return jsonFigure{f.Old * per, f.New * per, f.Margin * per, f.Significant}
	}
}
