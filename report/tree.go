package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/google/pprof/profile"

	"prywalk/internal/printable"
	"prywalk/internal/tabular"
	"prywalk/internal/view"
)

// Tree writes the call tree from the threads' first functions inwards, without the
// branches below Options.MinShare of the whole; how much they hold is said where
// they are.
func Tree(w io.Writer, p *profile.Profile, o Options) error {
	d, err := prepare(p, o)
	if err != nil {
		return err
	}
	t := d.Trie()
	t.SortChildren(d.Data)
	out := printable.NewWriter(w)
	d.heading(out, seeBelow)
	d.writeTree(out, t, "call tree", "all", leastShare(&o))
	d.footnotes(out, d.Rows(d.Profile.Sample))
	return out.Err()
}

// leastShare is that below which branches are left out.
func leastShare(o *Options) float64 {
	if o.MinShare == 0 {
		return 0.01
	}
	return o.MinShare
}

// writeTree writes a trie with a line for the sum of all.
func (d *data) writeTree(out *printable.Writer, t *view.Trie, what, all string, least float64) {
	tw := &treeWriter{data: d, Trie: t, least: int64(max(0, least) * float64(t.Nodes[0].Total))}
	tw.add(t.Nodes[0].Total, t.Nodes[0].Self, &pending{}, printable.Raw(printable.String(all)))
	tw.walk()
	tw.flush(out, fmt.Sprintf("%s (%s)", what, d.Profile.SampleType[d.Value].Type))
}

// treeWriter writes a trie with an explicit stack: its depth is the input's.
type treeWriter struct {
	*data
	*view.Trie
	least int64
	lines []treeLine
}

// treeLine is one line: its figures, and what stands behind them.
type treeLine struct {
	total, self int64
	leftOut     bool // a sum of several, which has no self
	branch      string
	name        printable.Raw
	module      string
}

// pending is a node still to be written, or what was left out beside it.
type pending struct {
	node   int32 // -1: the sum of what is left out
	depth  int
	prefix string
	last   bool
	sum    int64
	count  int
}

func (tw *treeWriter) walk() {
	todo := tw.below(0, 1, "")
	for len(todo) > 0 {
		p := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		tw.line(&p)
		if p.node >= 0 {
			todo = append(todo, tw.below(p.node, p.depth+1, p.prefix+map[bool]string{false: "│ ", true: "  "}[p.last])...)
		}
	}
}

// below lists what to write under a node, in reverse.
func (tw *treeWriter) below(n int32, depth int, prefix string) []pending {
	var list []pending
	rest := pending{node: -1, depth: depth, prefix: prefix}
	for _, c := range tw.Nodes[n].Children {
		if total := tw.Nodes[c].Total; total < tw.least {
			rest.sum += total
			rest.count++
			continue
		}
		list = append(list, pending{node: c, depth: depth, prefix: prefix})
	}
	if rest.count > 0 && rest.sum >= tw.least {
		list = append(list, rest)
	}
	if len(list) > 0 {
		list[len(list)-1].last = true
	}
	slices.Reverse(list)
	return list
}

func (tw *treeWriter) line(p *pending) {
	if p.node < 0 {
		text := fmt.Sprintf("… %s below %s", tabular.Plural(int64(p.count), "smaller call"), tw.Precision.Share(tw.least))
		tw.add(p.sum, 0, p, printable.Raw(text))
		return
	}
	n := &tw.Nodes[p.node]
	f := &tw.Frames[n.Frame]
	l := tw.add(n.Total, n.Self, p, printable.Raw(printable.String(f.Shown())))
	if f.Module != "" && !strings.Contains(string(l.name), f.Module) {
		l.module = printable.String(f.Module)
	}
}

// add keeps a line.
func (tw *treeWriter) add(total, self int64, p *pending, name printable.Raw) *treeLine {
	branch := ""
	if p.depth > 0 {
		branch = tw.indent(p) + map[bool]string{false: "├ ", true: "└ "}[p.last]
	}
	tw.lines = append(tw.lines, treeLine{total: total, self: self, leftOut: p.node < 0, branch: branch, name: name})
	return &tw.lines[len(tw.lines)-1]
}

// indent is what stands before a branch. Where it takes a third of a terminal, its beginning gives way to its depth.
func (tw *treeWriter) indent(p *pending) string {
	limit := tw.Options.Width / 3
	n := utf8.RuneCountInString(p.prefix)
	if tw.Options.Width == 0 || n <= limit {
		return p.prefix
	}
	head := fmt.Sprintf("%d… ", p.depth)
	r := []rune(p.prefix)
	return head + string(r[n-max(0, limit-utf8.RuneCountInString(head))/2*2:])
}

// flush writes the lines with their columns aligned.
func (tw *treeWriter) flush(out *printable.Writer, head string) {
	cells := [3][]string{{"total%"}, {"total"}, {"self%"}}
	var shares, selfs []string
	for i := range tw.lines {
		l := &tw.lines[i]
		shares = append(shares, tw.Precision.Share(l.total))
		cells[1] = append(cells[1], tw.Precision.Value(l.total, tw.Unit))
		selfs = append(selfs, map[bool]string{false: tw.Precision.Share(l.self), true: ""}[l.leftOut])
	}
	cells[0], cells[2] = append(cells[0], tabular.Aligned(shares)...), append(cells[2], tabular.Aligned(selfs)...)
	for i := range cells {
		cells[i] = tabular.Right(cells[i], len("100%"))
	}
	at := len([]rune(cells[0][0]+cells[1][0]+cells[2][0])) + len("   ") + 1
	out.Printf("%s\n", tw.color(dim, fmt.Sprintf("%s %s %s  %s", cells[0][0], cells[1][0], cells[2][0], head)))
	for i := range tw.lines {
		l := &tw.lines[i]
		name, module := tw.room(l, tw.Options.Width-at-utf8.RuneCountInString(l.branch))
		out.Printf("%s %s %s  %s%s%s\n", cells[0][i+1], cells[1][i+1], tw.heat(cells[2][i+1], l.self), l.branch, name, module)
	}
}

// room cuts a line's names to what there is room for. A module that has no room is left out.
func (tw *treeWriter) room(l *treeLine, width int) (name, module printable.Raw) {
	if l.module != "" {
		module = "  " + tw.color(dim, l.module)
	}
	if l.leftOut {
		text := string(l.name)
		if short, _, _ := strings.Cut(text, " below "); tw.Options.Width > 0 && !tabular.Fits(text, width) {
			text = tabular.ShortModule(short, max(width, tabular.LeastName))
		}
		return tw.paint(dim, printable.Raw(text)), ""
	}
	if tw.Options.Width == 0 {
		return l.name, module
	}
	name = printable.Raw(tabular.Shorten(string(l.name), max(width, tabular.LeastColumn)))
	if utf8.RuneCountInString(string(name))+len("  ")+utf8.RuneCountInString(l.module) > width {
		module = ""
	}
	return name, module
}
