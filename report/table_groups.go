// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"

	"github.com/google/pprof/profile"

	"prywalk/internal/printable"
	"prywalk/internal/tabular"
	"prywalk/internal/view"
)

const maxGroups = 40

func (d *data) groups(out *printable.Writer) {
	if d.Options.By == "wait" {
		d.waitGroups(out)
		return
	}
	list := d.Grouped(d.Options.By)
	var shown []view.Row
	for i, g := range list[:min(len(list), maxGroups)] {
		if i > 0 {
			out.Printf("\n")
		}
		line := tabular.Wrap(d.Options.Width, "  ", append([]string{d.Precision.Share(g.Value),
			d.Precision.Value(g.Value, d.Unit), g.Name},
			d.clockLine(g.Samples)...)...)
		out.Printf("%s\n", d.paint(bold, line))
		if g.Value != 0 {
			shown = append(shown, d.table(out, g.Samples, d.Limit(5), "    ")...)
		}
	}
	if rest := len(list) - maxGroups; rest > 0 {
		var sum int64
		for _, g := range list[maxGroups:] {
			sum += g.Value
		}
		out.Printf("\n… %s, %s of all\n", tabular.Plural(int64(rest), "more group"), d.Precision.Share(sum))
	}
	d.footnotes(out, shown)
}

func (d *data) clockLine(samples []*profile.Sample) []string {
	c, ok := d.Clocks(samples)
	if !ok {
		return nil
	}
	return []string{fmt.Sprintf("(cpu %s, runqueue %s, blocked %s)", tabular.Nanos(c.CPU), tabular.Nanos(c.RunQueue),
		tabular.Nanos(c.Blocked))}
}
