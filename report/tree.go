// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/google/pprof/profile"

	"prywalk/internal/base/printable"
	"prywalk/internal/base/tabular"
	"prywalk/internal/show/view"
)

// Tree writes the call tree from the threads' first functions. Branches below Options.MinShare of the whole are summed
// up.
func Tree(w io.Writer, p *profile.Profile, o Options) error {
	return writeForm(w, p, o, func(d *data, out *printable.Writer) error {
		t := d.CallTree()
		t.SortChildren()
		d.heading(out)
		d.writeTree(out, t, "call tree", "all")
		d.footnotes(out, d.Rows(d.Profile.Sample))
		return nil
	})
}

func (d *data) writeTree(out *printable.Writer, t *view.CallTree, what, all string) {
	minShare := max(0, cmp.Or(d.Options.MinShare, 0.01))
	if d.Options.N < 0 {
		minShare = 0
	}
	tw := &treeWriter{data: d, tree: t, minValue: int64(minShare * math.Abs(float64(t.Nodes[0].Total)))}
	if n := d.Options.N; n > 0 && n < len(t.Nodes) && d.Memory.Take(nodeOrderCost*int64(len(t.Nodes))) {
		tw.minValue = max(tw.minValue, t.Nodes[byTotal(t)[n-1]].Total)
	}
	tw.listLines()
	tw.writeLines(out, all, fmt.Sprintf("%s (%s)", what, d.Clock()))
}

// treeWriter does not recurse: input determines the depth. Lines are numbers until written: names and indents of deep
// trees are far larger than the profile.
type treeWriter struct {
	data     *data
	tree     *view.CallTree
	minValue int64
	lines    []treeLine
	open     []bool // by depth: goes on below the present line
}

const lineCost, nodeOrderCost = 400, 4

const maxIndent = 200

type treeLine struct {
	node  int32 // -1 means a sum
	depth int32
	last  bool
	count int32
	sum   int64
}

// byTotal returns a tree's nodes without the root, those with most time first: no callee is before its caller.
func byTotal(t *view.CallTree) []int32 {
	order := make([]int32, len(t.Nodes)-1)
	for i := range order {
		order[i] = int32(i + 1)
	}
	slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(t.Nodes[b].Total, t.Nodes[a].Total) })
	return order
}

func (tw *treeWriter) listLines() {
	todo := []treeLine{{last: true}}
	for len(todo) > 0 && tw.data.Memory.Take(lineCost) {
		l := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		tw.lines = append(tw.lines, l)
		if l.node >= 0 {
			todo = append(todo, tw.linesBelow(l.node, l.depth+1)...)
		}
	}
}

func (tw *treeWriter) linesBelow(n, depth int32) []treeLine {
	var list []treeLine
	rest := treeLine{node: -1, depth: depth}
	for _, c := range tw.tree.Nodes[n].Children {
		if total := tw.tree.Nodes[c].Total; tw.isSmall(total) {
			rest.sum += total
			rest.count++
			continue
		}
		list = append(list, treeLine{node: c, depth: depth})
	}
	if rest.count > 0 && (tw.data.Options.N > 0 || !tw.isSmall(rest.sum)) {
		list = append(list, rest)
	}
	if len(list) > 0 {
		list[len(list)-1].last = true
	}
	slices.Reverse(list)
	return list
}

// isSmall compares magnitudes: a difference of profiles has negative values.
func (tw *treeWriter) isSmall(v int64) bool { return max(v, -v) < tw.minValue }

func (tw *treeWriter) values(l *treeLine) (total, self int64) {
	if l.node < 0 {
		return l.sum, 0
	}
	return tw.tree.Nodes[l.node].Total, tw.tree.Nodes[l.node].Self
}

// branch returns the drawing before a name; of wide branches a depth number replaces the beginning.
func (tw *treeWriter) branch(l *treeLine) string {
	if l.depth == 0 {
		return ""
	}
	tw.open = append(tw.open[:l.depth-1], !l.last)
	limit := tableWidth(&tw.data.Options) / 3
	if limit == 0 {
		limit = maxIndent
	}
	above, head := tw.open[:l.depth-1], ""
	if 2*len(above) > limit {
		head = fmt.Sprintf("%d… ", l.depth)
		above = above[len(above)-max(0, limit-tabular.Width(head))/2:]
	}
	var b strings.Builder
	b.WriteString(head)
	for _, more := range above {
		segment := "  "
		if more {
			segment = "│ "
		}
		b.WriteString(segment)
	}
	if l.last {
		return b.String() + "└ "
	}
	return b.String() + "├ "
}

func (tw *treeWriter) writeLines(out *printable.Writer, all, head string) {
	cells := [3][]string{{"total%"}, {"total"}, {"self%"}}
	var shares, selfs []string
	for i := range tw.lines {
		total, self := tw.values(&tw.lines[i])
		shares = append(shares, tw.data.Precision.Share(total))
		cells[1] = append(cells[1], tw.data.Precision.Value(total, tw.data.Unit))
		if tw.lines[i].node >= 0 {
			selfs = append(selfs, tw.data.Precision.Share(self))
		} else {
			selfs = append(selfs, "")
		}
	}
	cells[0], cells[2] = append(cells[0], tabular.Aligned(shares)...), append(cells[2], tabular.Aligned(selfs)...)
	for i := range cells {
		cells[i] = tabular.AlignRight(cells[i], len("100%"))
	}
	figures := tabular.Width(cells[0][0]+cells[1][0]+cells[2][0]) + len("   ") + 1
	out.Printf("%s\n", tw.data.color(dim, fmt.Sprintf("%s %s %s  %s", cells[0][0], cells[1][0], cells[2][0], head)))
	for i := 0; i < len(tw.lines) && out.Err() == nil; i++ {
		l := &tw.lines[i]
		branch := tw.branch(l)
		name, module := tw.label(l, all, tableWidth(&tw.data.Options)-figures-tabular.Width(branch))
		_, self := tw.values(l)
		out.Printf("%s %s %s  %s%s%s\n", cells[0][i+1], cells[1][i+1], tw.data.markLarge(cells[2][i+1], self), branch, name,
			module)
	}
}

// label returns a line's name and module for a width. The module follows two spaces, and is "" if it does not fit.
func (tw *treeWriter) label(l *treeLine, all string, width int) (name, module printable.Raw) {
	if tw.data.Options.FullNames {
		width = math.MaxInt
	}
	if l.node < 0 {
		text := "… " + tabular.Plural(int64(l.count), "smaller call")
		if whole := text + " below " + tw.data.Precision.Share(tw.minValue); tabular.Fits(whole, width) {
			text = whole
		}
		return tw.data.paint(dim, printable.Raw(tabular.Cut(text, max(width, tabular.MinNameWidth)))), ""
	}
	width = max(width, tabular.MinNameColumn)
	if l.depth == 0 {
		return printable.Raw(tabular.Shorten(printable.String(all), width)), ""
	}
	f := &tw.data.Table.Frames[tw.tree.Nodes[l.node].Frame]
	name = printable.Raw(f.FitName(width))
	if f.Module != "" && !strings.Contains(printable.String(f.DisplayName()), f.Module) &&
		tabular.Width(string(name))+len("  ")+tabular.PrintedWidth(f.Module) <= width {
		module = "  " + tw.data.color(dim, f.Module)
	}
	return name, module
}
