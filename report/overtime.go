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

const (
	overTimeColumns = 30
	maxShownBursts  = 5
	maxJSONBursts   = 100
)

// overTime writes a group over time, and its bursts, which the mean hides.
func (d *data) overTime(out *printable.Writer, g *view.Group) {
	x, ok := d.AtOnce(g.Samples, overTimeColumns)
	if !ok || x.Most == 0 {
		return
	}
	const indent = "    "
	parts := []string{"|" + sparkline(x.Means) + "| " + tabular.Nanos(x.From) + " to " + tabular.Nanos(x.To)}
	if text := burstText(&x); text != "" {
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

// jsonBurst is a time with many at once, in ns since the recording's start.
type jsonBurst struct {
	// Begin is the time since the recording's start.
	Begin int64 `json:"begin"`
	// Length is that of the burst, with short gaps.
	Length int64 `json:"length"`
}

// jsonAtOnce says how many threads and tasks of a group there were at a time.
type jsonAtOnce struct {
	// Most were there at once, for at least one tick.
	Most int `json:"most"`
	// Bursts is the number of times with at least half of Most, and at least two; 0: they are over a quarter of the time.
	Bursts int `json:"bursts"`
	// FirstBursts are at most 100 of these.
	FirstBursts []jsonBurst `json:"first_bursts,omitempty"`
	// Means are of 30 equal parts of the selection.
	Means []float64 `json:"means"`
}

// jsonAtOnce returns nil for groups by other than waits, and without times.
func (d *data) jsonAtOnce(g *view.Group) *jsonAtOnce {
	if d.Options.By != "wait" {
		return nil
	}
	x, ok := d.AtOnce(g.Samples, overTimeColumns)
	if !ok {
		return nil
	}
	j := &jsonAtOnce{Most: x.Most, Bursts: len(x.Bursts), Means: x.Means}
	for i, m := range x.Means {
		j.Means[i] = math.Round(1000*m) / 1000
	}
	for _, b := range x.Bursts[:min(len(x.Bursts), maxJSONBursts)] {
		j.FirstBursts = append(j.FirstBursts, jsonBurst(b))
	}
	return j
}
