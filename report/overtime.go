// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"prywalk/internal/base/printable"
	"prywalk/internal/base/tabular"
	"prywalk/internal/show/view"
)

const maxShownBursts = 5

// overTime writes a group over time, and its bursts, which the mean hides.
func (d *data) overTime(out *printable.Writer, g *view.Group) {
	x := d.AtOnce(g.Samples)
	if x == nil || x.Most == 0 {
		return
	}
	const indent = "    "
	parts := []string{"|" + sparkline(x.Means) + "| " + tabular.Nanos(x.From) + " to " + tabular.Nanos(x.To)}
	if text := burstText(x); text != "" {
		parts = append(parts, text)
	}
	width := d.Options.Width
	if width > 0 {
		width = max(1, width-len(indent))
	}
	text := strings.ReplaceAll(string(tabular.Wrap(width, "; ", parts...)), "\n", "\n"+indent)
	out.Printf("%s%s\n", indent, printable.Raw(text))
}

// sparkline has a block for each mean, whose height is its share of the largest one, and a space for none.
func sparkline(means []float64) string {
	const blocks = "▁▂▃▄▅▆▇█"
	heights, most := []rune(blocks), slices.Max(means)
	var b strings.Builder
	for _, m := range means {
		if m <= 0 {
			b.WriteByte(' ')
			continue
		}
		b.WriteRune(heights[max(0, int(math.Ceil(m/most*float64(len(heights))-1e-9))-1)])
	}
	return b.String()
}

// burstText is "" for a steady group.
func burstText(x *view.AtOnce) string {
	if len(x.Bursts) == 0 {
		return ""
	}
	shortest, longest := x.Bursts[0].Length, int64(0)
	var at []string
	for i, b := range x.Bursts {
		shortest, longest = min(shortest, b.Length), max(longest, b.Length)
		if i < maxShownBursts {
			at = append(at, tabular.Nanos(b.Begin))
		}
	}
	more := ""
	if len(x.Bursts) > maxShownBursts {
		more = " …"
	}
	length := tabular.Nanos(longest)
	if float64(longest) > 1.2*float64(shortest) {
		length = tabular.Nanos(shortest) + " to " + length
	}
	return fmt.Sprintf("up to %d at once, in %s of %s (at %s%s)", x.Most, tabular.Plural(int64(len(x.Bursts)), "burst"),
		length, strings.Join(at, ", "), more)
}
