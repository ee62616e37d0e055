package report

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/google/pprof/profile"

	"prywalk/internal/tabular"
)

// maxGroups is the number of groups that a table shows.
const maxGroups = 40

// groupOf is a group with its samples.
type groupOf struct {
	name    string
	value   int64
	idle    int // 1: by a rule; these come last
	samples []*profile.Sample
}

// grouped sorts the samples into groups, the most expensive first.
func (d *data) grouped() []*groupOf {
	by := map[string]*groupOf{}
	var list []*groupOf
	for _, s := range d.prof.Sample {
		name := d.group(s, d.opts.By)
		g := by[name]
		if g == nil {
			g = &groupOf{name: name}
			if d.opts.By == "wait" && d.idle(s) != "" {
				g.idle = 1
			}
			by[name] = g
			list = append(list, g)
		}
		g.value += s.Value[d.value]
		g.samples = append(g.samples, s)
	}
	slices.SortFunc(list, func(a, b *groupOf) int {
		return cmp.Or(cmp.Compare(a.idle, b.idle), cmp.Compare(b.value, a.value), cmp.Compare(a.name, b.name))
	})
	return list
}

// groups writes one small table for each group.
func (d *data) groups(out *writer) {
	list := d.grouped()
	var shown []row
	for i, g := range list[:min(len(list), maxGroups)] {
		if i > 0 {
			out.printf("\n")
		}
		line := tabular.Wrap(d.opts.Width, "  ", append([]string{d.prec.Share(g.value), d.prec.Value(g.value, d.unit),
			g.name},
			d.clockLine(g.samples)...)...)
		out.printf("%s\n", d.paint(bold, line))
		if g.value != 0 {
			shown = append(shown, d.table(out, g.samples, d.limit(5), "    ")...)
		}
	}
	if rest := len(list) - maxGroups; rest > 0 {
		var sum int64
		for _, g := range list[maxGroups:] {
			sum += g.value
		}
		out.printf("\n… %s, %s of all\n", tabular.Plural(int64(rest), "more group"), d.prec.Share(sum))
	}
	d.footnotes(out, shown)
}

// clockLine tells where the time of a group went, in parts.
func (d *data) clockLine(samples []*profile.Sample) []string {
	c, ok := d.clocks(samples)
	if !ok {
		return nil
	}
	return []string{fmt.Sprintf("(cpu %s, queued %s, blocked %s)", tabular.Nanos(c.cpu), tabular.Nanos(c.runqueue),
		tabular.Nanos(c.blocked))}
}
