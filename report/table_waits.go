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

const maxWaitFrames = 6

func (d *data) waitStack(out *printable.Writer, g *view.Group) {
	stack, value, stacks := d.MostFrequentStack(g.Samples)
	shown := stack[:min(len(stack), maxWaitFrames)]
	var frames []*view.Frame
	for _, n := range shown {
		frames = append(frames, &d.Table.Frames[n])
	}
	const indent = "    "
	head, names := d.nameColumns(len(indent), frames)
	out.Printf("%s%s\n", indent, d.color(dim, head))
	for _, name := range names {
		out.Printf("%s%s\n", indent, name)
	}
	rest := ""
	if n := len(stack) - len(shown); n > 0 {
		rest = "… " + tabular.Plural(int64(n), "more caller")
	}
	if stacks > 1 {
		part := fmt.Sprintf("%.0f%% of this group; %s", 100*float64(value)/float64(g.Value),
			tabular.Plural(int64(stacks-1), "other stack"))
		if rest != "" {
			part = "; " + part
		}
		rest += part
	}
	if rest != "" {
		out.Printf("    %s\n", d.color(dim, rest))
	}
}

const maxShownBursts = 5

// overTime writes a group over time, and its bursts, which the mean hides.
func (d *data) overTime(out *printable.Writer, g *view.Group) {
	x := d.AtOnce(g.Samples)
	if x == nil || slices.Max(x.Means) == 0 {
		return
	}
	const indent = "    "
	parts := []string{indent + "|" + sparkline(x.Means) + "| " + tabular.Nanos(x.From) + " to " + tabular.Nanos(x.To)}
	if text := burstText(x); text != "" {
		parts = append(parts, text)
	}
	text := strings.ReplaceAll(string(tabular.Wrap(d.Options.Width, "; ", parts...)), "\n", "\n"+indent)
	out.Printf("%s\n", printable.Raw(text))
}

// sparkline has a block for each mean, whose height is its share of the largest one, and a space for none.
func sparkline(means []float64) string {
	var b strings.Builder
	for most, heights := slices.Max(means), []rune(" ▁▂▃▄▅▆▇█"); len(means) > 0; means = means[1:] {
		b.WriteRune(heights[int(math.Ceil(8*means[0]/most-1e-9))])
	}
	return b.String()
}

// burstText is "" for a steady group.
func burstText(x *view.AtOnce) string {
	if len(x.Bursts) == 0 {
		return ""
	}
	var at []string
	more, shortest, longest := "", x.Bursts[0].Length, int64(0)
	for _, b := range x.Bursts {
		shortest, longest = min(shortest, b.Length), max(longest, b.Length)
		if len(at) < maxShownBursts {
			at = append(at, tabular.Nanos(b.Begin))
		} else {
			more = " …"
		}
	}
	length := tabular.Nanos(longest)
	if float64(longest) > 1.2*float64(shortest) {
		length = tabular.Nanos(shortest) + " to " + length
	}
	return fmt.Sprintf("up to %d at once, in %s of %s (at %s%s)", x.Most, tabular.Plural(int64(len(x.Bursts)), "burst"),
		length, strings.Join(at, ", "), more)
}
