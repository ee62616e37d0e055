// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/google/pprof/profile"

	"prywalk/internal/printable"
	"prywalk/internal/sourcelines"
	"prywalk/internal/tabular"
	"prywalk/internal/view"
)

// selectFrames prefers exactly this name to the regular expression.
func (d *data) selectFrames(flag, function string) (func(frame int32) bool, error) {
	for _, s := range d.Profile.Sample {
		d.Stack(s)
	}
	named := func(is func(name string) bool) map[int32]bool {
		all := map[int32]bool{}
		for f := range d.Frames {
			if is(d.Frames[f].Name) {
				all[int32(f)] = true
			}
		}
		return all
	}
	selected := named(func(name string) bool { return name == function })
	if len(selected) == 0 { // names such as operator++ are no regular expressions
		re, err := view.Compile(flag, function)
		if err != nil {
			return nil, err
		}
		selected = named(func(name string) bool { return re != nil && re.MatchString(name) })
	}
	if len(selected) > 0 {
		return func(f int32) bool { return selected[f] }, nil
	}
	return nil, fmt.Errorf("no function is named %q or matches it; %s lists all", function,
		suggest("-n -1", &d.Options))
}

// Callers writes a function's callers as a tree. Total is time in the function and its callees on that path, self in
// the function itself.
func Callers(w io.Writer, p *profile.Profile, function string, o Options) error {
	return writeNeighbors(w, p, function, o, "callers")
}

// Callees writes the functions that a function called, as a tree.
func Callees(w io.Writer, p *profile.Profile, function string, o Options) error {
	return writeNeighbors(w, p, function, o, "callees")
}

func writeNeighbors(w io.Writer, p *profile.Profile, function string, o Options, what string) error {
	d, err := prepare(p, o)
	if err != nil {
		return err
	}
	defer d.Close()
	is, err := d.selectFrames(what, function)
	if err != nil {
		return err
	}
	t := d.NewCallTree()
	for _, s := range d.Profile.Sample {
		if v := s.Value[d.ValueIndex]; v != 0 {
			addNeighbors(t, d.Stack(s), v, is, what == "callers")
		}
	}
	t.SortChildren(d.Data)
	out := printable.NewWriter(d.Writer(w))
	d.heading(out, "")
	title := map[bool]string{true: "callers, nearest first", false: "callees"}[what == "callers"]
	d.writeTree(out, t, title, "all of "+function, minTreeShare(&o))
	return cmp.Or(d.Err(), out.Err())
}

// addNeighbors adds a stack's callers or callees. In a recursion, callers are the innermost call's, callees the
// outermost's: no time counts twice.
func addNeighbors(t *view.CallTree, stack []int32, v int64, isFocus func(int32) bool, callers bool) {
	at := slices.IndexFunc(stack, isFocus)
	if at < 0 {
		return
	}
	own := at == 0
	path := stack[at:]
	if !callers {
		for at = len(stack) - 1; !isFocus(stack[at]); at-- {
		}
		path = slices.Clone(stack[:at+1])
		slices.Reverse(path)
	}
	n := int32(0)
	t.Nodes[0].Total += v
	for _, f := range path {
		n = t.Child(n, f)
		t.Nodes[n].Total += v
		if callers && own {
			t.Nodes[n].Self += v
		}
	}
	if !callers {
		t.Nodes[n].Self += v
	}
	if own {
		t.Nodes[0].Self += v
	}
}

// Source writes matching functions' lines with values. Text is read below dir, or from the user's own file at the
// recorded path.
func Source(w io.Writer, p *profile.Profile, function, dir string, o Options) error {
	d, err := prepare(p, o)
	if err != nil {
		return err
	}
	defer d.Close()
	want, err := view.Compile("source", function)
	if err != nil {
		return err
	}
	files := &sourcelines.Files{Dir: dir, Own: true}
	funcs := sourcelines.Functions(d.Profile, want, d.ValueIndex)
	if len(funcs) == 0 {
		return fmt.Errorf("no function with line numbers matches %q; lines need debug information (prywalk doctor "+
			"-p PID)", function)
	}
	out := printable.NewWriter(d.Writer(w))
	d.heading(out, "")
	for i, f := range funcs {
		if i > 0 {
			out.Printf("\n")
		}
		d.sourceLines(out, files, f)
	}
	return cmp.Or(d.Err(), out.Err())
}

func (d *data) sourceLines(out *printable.Writer, files *sourcelines.Files, f *sourcelines.Function) {
	text, err := files.Read(f.File) // on error, lines are written without text
	var lines []*sourcelines.Line
	var rows []view.Row
	for _, l := range f.ByLine {
		lines = append(lines, l)
	}
	slices.SortFunc(lines, func(a, b *sourcelines.Line) int { return int(a.N - b.N) })
	for _, l := range lines {
		rows = append(rows, view.Row{Self: l.Self, Total: l.Total})
	}
	out.Printf("%s\n", d.paint(bold, tabular.Wrap(d.Options.Width, "  ", tabular.Shorten(printable.String(f.Name),
		d.Options.Width), f.File)))
	if err != nil {
		out.Printf("%s\n", d.paint(dim, tabular.Paragraph(d.Options.Width, "  ", "no source text: "+missingSourceText(err))))
	}
	heads, figures := d.figures(rows)
	out.Printf("%s\n", d.color(dim, heads+"  line"))
	for i, l := range lines {
		code := ""
		if n := int(l.N) - 1; n >= 0 && n < len(text) {
			code = "  " + expandTabs(text[n])
		}
		line := fmt.Sprintf("%6d%s", l.N, code)
		if d.Options.Width > 0 {
			line = tabular.ShortModule(line, max(tabular.MinNameColumn, d.Options.Width-tabular.PrintedWidth(heads)))
		}
		out.Printf("%s%s%s\n", d.markLarge(figures[i][0], rows[i].Self), figures[i][1], line)
	}
}

func missingSourceText(err error) string {
	if errors.Is(err, sourcelines.ErrNotOwn) {
		return err.Error()
	}
	return "file not found; give its directory with --source-dir"
}

func expandTabs(s string) string { return strings.TrimRight(strings.ReplaceAll(s, "\t", "    "), "\r") }
