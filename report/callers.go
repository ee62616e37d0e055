// SPDX-License-Identifier: Apache-2.0

package report

import (
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
	return writeCallersOrCallees(w, p, function, o, "callers", "callers, nearest first", addCallers)
}

// Callees writes the functions that a function called, as a tree.
func Callees(w io.Writer, p *profile.Profile, function string, o Options) error {
	return writeCallersOrCallees(w, p, function, o, "callees", "callees", addCallees)
}

// writeCallersOrCallees writes the tree that add makes of the stacks. flag is the one that names the function.
func writeCallersOrCallees(w io.Writer, p *profile.Profile, function string, o Options, flag, title string,
	add func(t *view.CallTree, stack []int32, v int64, isFocus func(int32) bool)) error {
	return writeForm(w, p, o, func(d *data, out *printable.Writer) error {
		isFocus, err := d.selectFrames(flag, function)
		if err != nil {
			return err
		}
		t := d.NewCallTree()
		for _, s := range d.Profile.Sample {
			if v := s.Value[d.ValueIndex]; v != 0 {
				add(t, d.Stack(s), v, isFocus)
			}
		}
		t.SortChildren(d.Data)
		d.heading(out, "")
		d.writeTree(out, t, title, "all of "+function, minTreeShare(&o))
		return nil
	})
}

// addCallers adds the path from the function outward. In a recursion it is the innermost call, so that no time counts
// twice. Self is the time in which the function itself is the innermost one.
func addCallers(t *view.CallTree, stack []int32, v int64, isFocus func(int32) bool) {
	focus := slices.IndexFunc(stack, isFocus)
	if focus < 0 {
		return
	}
	self := int64(0)
	if focus == 0 {
		self = v
	}
	node := int32(0)
	t.Nodes[node].Total += v
	t.Nodes[node].Self += self
	for _, f := range stack[focus:] {
		node = t.Child(node, f)
		t.Nodes[node].Total += v
		t.Nodes[node].Self += self
	}
}

// addCallees adds the path from the function inward. In a recursion it is the outermost call, so that no time counts
// twice. Self is the time of the innermost function, and of the root that in which this is one of those asked for.
func addCallees(t *view.CallTree, stack []int32, v int64, isFocus func(int32) bool) {
	focus := len(stack) - 1
	for focus >= 0 && !isFocus(stack[focus]) {
		focus--
	}
	if focus < 0 {
		return
	}
	node := int32(0)
	t.Nodes[node].Total += v
	if isFocus(stack[0]) {
		t.Nodes[node].Self += v
	}
	for _, f := range slices.Backward(stack[:focus+1]) {
		node = t.Child(node, f)
		t.Nodes[node].Total += v
	}
	t.Nodes[node].Self += v
}

// Source writes matching functions' lines with values. Text is read below dir, or from the user's own file at the
// recorded path.
func Source(w io.Writer, p *profile.Profile, function, dir string, o Options) error {
	return writeForm(w, p, o, func(d *data, out *printable.Writer) error {
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
		d.heading(out, "")
		for i, f := range funcs {
			if i > 0 {
				out.Printf("\n")
			}
			d.sourceLines(out, files, f)
		}
		return nil
	})
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
	heads, figures := d.valueColumns(rows)
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
