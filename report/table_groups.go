package report

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/google/pprof/profile"
)

// maxGroups is the number of groups that a table shows.
const maxGroups = 40

// groupOf is a group with its samples.
type groupOf struct {
	name    string
	value   int64
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
			by[name] = g
			list = append(list, g)
		}
		g.value += s.Value[d.value]
		g.samples = append(g.samples, s)
	}
	slices.SortFunc(list, func(a, b *groupOf) int {
		return cmp.Or(cmp.Compare(b.value, a.value), cmp.Compare(a.name, b.name))
	})
	return list
}

// groups writes one small table for each group.
func (d *data) groups(out *writer, total int64) {
	list := d.grouped()
	for _, g := range list[:min(len(list), maxGroups)] {
		line := fmt.Sprintf("%7s %9s  %s", percent(g.value, total), format(g.value, d.unit), g.name)
		out.printf("%s%s\n", d.color(bold, line), d.clockLine(g.samples))
		if g.value != 0 {
			d.table(out, g.samples, total, d.limit(5), "    ")
		}
		out.printf("\n")
	}
	if rest := len(list) - maxGroups; rest > 0 {
		var sum int64
		for _, g := range list[maxGroups:] {
			sum += g.value
		}
		out.printf("… %s, %s of all\n", plural(int64(rest), "more group"), percent(sum, total))
	}
}

// clockLine tells where the time of a group went.
func (d *data) clockLine(samples []*profile.Sample) string {
	c, ok := d.clocks(samples)
	if !ok {
		return ""
	}
	return fmt.Sprintf("  (cpu %s, queued %s, blocked %s)", formatNanos(c.cpu), formatNanos(c.runqueue), formatNanos(c.blocked))
}
