// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"strings"
	"time"

	"prywalk/internal/printable"
	rec "prywalk/internal/profile"
	"prywalk/internal/tabular"
	"prywalk/internal/view"
)

func (d *data) heading(out *printable.Writer, below string) {
	width := d.Options.Width
	s, c := d.title(out)
	for _, line := range s.Comments {
		if first, _ := divideComment(line); first != "" {
			out.Printf("%s\n", d.paint(dim, tabular.Paragraph(width, "  ", first)))
		}
	}
	for _, line := range []string{d.hiddenIntervals(), d.UnnamedTimeText(&c, below), d.WhyIncomplete()} {
		if line != "" {
			out.Printf("%s\n", tabular.Paragraph(width, "  ", line))
		}
	}
	out.Printf("\n")
}

func (d *data) title(out *printable.Writer) (view.Summary, view.SymbolCoverage) {
	s, c := d.Summary(), d.Coverage()
	if line := d.Conclusion(); line != "" {
		out.Printf("%s\n", d.paint(bold, tabular.Wrap(d.Options.Width, "; ", strings.Split(line, "; ")...)))
	}
	out.Printf("%s\n%s\n", tabular.Wrap(d.Options.Width, " · ", s.Parts(d.CoverageText(&c))...),
		tabular.Wrap(d.Options.Width, " · ", d.totals(&s)...))
	return s, c
}

var now = time.Now

func (d *data) totals(s *view.Summary) []string {
	parts := d.Totals(s)
	if when := s.Recorded(now()); when != "" {
		parts = append(parts, when)
	}
	return parts
}

const seeBelow = " (see below)"

func (d *data) hiddenIntervals() string {
	if d.Dropped == 0 {
		return ""
	}
	return fmt.Sprintf("%s of %s hidden by %s", tabular.Thousands(int64(d.Dropped)),
		tabular.Plural(int64(d.Dropped+len(d.Profile.Sample)), "interval"),
		strings.Join(d.Filters, " and "))
}

// waitHint suggests the report by waits if threads hardly ran or queued for a CPU.
func (d *data) waitHint() string {
	wall, ok := d.TypeIndex(rec.TypeWall)
	if !ok || d.Options.Value != "" || d.Profile.SampleType[d.ValueIndex].Type != rec.TypeCPU {
		return ""
	}
	c := d.Coverage()
	ready := c.Total
	if queue, ok := d.TypeIndex(rec.TypeRunQueue); ok {
		ready += d.Total(queue)
	}
	if total := d.Total(wall); total == 0 || c.Total > 0 && !c.TooLittleTime || ready > total/20 {
		return ""
	}
	return "Almost no CPU time: the threads were waiting. " + suggest("--by wait", &d.Options) + " shows for what."
}

func suggest(flags string, o *Options) string {
	if o.File == "" {
		return "prywalk report " + flags
	}
	return "prywalk report " + flags + " " + o.File
}

func (d *data) footnotes(out *printable.Writer, shown []view.Row) {
	above := len(shown) > 0 || d.Options.By != ""
	for _, n := range append(d.Notes(shown), d.waitHint(), d.taskHint()) {
		if n != "" {
			if above {
				out.Printf("\n")
			}
			out.Printf("%s\n", tabular.Paragraph(d.Options.Width, "  ", n))
			above = true
		}
	}
}

// taskHint returns the time of threads that their tasks have instead.
func (d *data) taskHint() string {
	clock := d.Profile.SampleType[d.ValueIndex].Type
	if clock != rec.TypeWall && clock != view.TypeBlocked {
		return ""
	}
	var parts []string
	if d.SchedulerBlocked != 0 {
		parts = append(parts, tabular.Nanos(d.SchedulerBlocked)+" of threads asleep in Go's scheduler; the goroutines that "+
			"wait have this time")
	}
	if d.EventLoopBlocked != 0 {
		parts = append(parts, tabular.Nanos(d.EventLoopBlocked)+" of threads asleep in asyncio's event loop; the tasks that "+
			"wait have this time")
	}
	if len(parts) == 0 {
		return ""
	}
	return "not counted: " + strings.Join(parts, "; ") + " (--native counts both)"
}
