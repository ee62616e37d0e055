package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/google/pprof/profile"

	"prywalk/internal/printable"
)

// Tree writes the call tree from the threads' first functions inwards, without the
// branches below Options.MinShare of the whole; how much they hold is said where
// they are.
func Tree(w io.Writer, p *profile.Profile, o Options) error {
	d, err := prepare(p, o)
	if err != nil {
		return err
	}
	if o.MinShare == 0 {
		o.MinShare = 0.01
	}
	t := d.trie()
	t.sortChildren(d)
	out := &writer{w: w}
	d.heading(out)
	out.printf("%s\n", d.color(dim, fmt.Sprintf("%7s %9s %7s  call tree (%s)", "total%", "total", "self%", d.prof.SampleType[d.value].Type)))
	tw := &treeWriter{data: d, trie: t, out: out, least: int64(max(0, o.MinShare) * float64(t.nodes[0].total))}
	out.printf("%7s %9s %7s  all\n", percent(t.nodes[0].total, t.nodes[0].total), format(t.nodes[0].total, d.unit), "0.00%")
	tw.walk()
	return out.err
}

// treeWriter writes a trie with an explicit stack: its depth is the input's.
type treeWriter struct {
	*data
	*trie
	out   *writer
	least int64
}

// pending is a node still to be written, or what was left out beside it.
type pending struct {
	node   int32 // -1: the sum of what is left out
	prefix string
	last   bool
	sum    int64
	count  int
}

func (tw *treeWriter) walk() {
	todo := tw.below(0, "")
	for len(todo) > 0 {
		p := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		tw.line(&p)
		if p.node >= 0 {
			todo = append(todo, tw.below(p.node, p.prefix+map[bool]string{false: "│ ", true: "  "}[p.last])...)
		}
	}
}

// below lists what to write under a node, in reverse.
func (tw *treeWriter) below(n int32, prefix string) []pending {
	var list []pending
	rest := pending{node: -1, prefix: prefix}
	for _, c := range tw.nodes[n].children {
		if total := tw.nodes[c].total; total < tw.least {
			rest.sum += total
			rest.count++
			continue
		}
		list = append(list, pending{node: c, prefix: prefix})
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
	all := tw.nodes[0].total
	branch := p.prefix + map[bool]string{false: "├ ", true: "└ "}[p.last]
	if p.node < 0 {
		tw.out.printf("%7s %9s %7s  %s%s\n", percent(p.sum, all), format(p.sum, tw.unit), "",
			branch, tw.color(dim, fmt.Sprintf("… %s below %s", plural(int64(p.count), "smaller call"), percent(tw.least, all))))
		return
	}
	n := &tw.nodes[p.node]
	f := &tw.frames[n.frame]
	name, module := printable.String(f.label()), printable.Raw("")
	if tw.opts.Width > 0 {
		name = shorten(name, max(24, tw.opts.Width-28-utf8.RuneCountInString(branch)))
	}
	if f.module != "" && !strings.Contains(name, f.module) {
		module = "  " + tw.color(dim, f.module)
	}
	tw.out.printf("%7s %9s %s  %s%s%s\n", percent(n.total, all), format(n.total, tw.unit),
		tw.heat(fmt.Sprintf("%7s", percent(n.self, all)), n.self, all), branch, name, module)
}
