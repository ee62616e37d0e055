// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"prywalk/internal/account/runstats"
	"prywalk/internal/base/printable"
	"prywalk/internal/base/tabular"
	"prywalk/internal/show/chains"
	"prywalk/internal/show/view"
	rec "prywalk/internal/store/profile"
)

// headWidth is of each line above the table.
const headWidth = 100

// heading writes the conclusion and at most two lines.
func (d *data) heading(out *printable.Writer) {
	width := headWidth
	if d.Options.Width > 0 {
		width = min(width, d.Options.Width)
	}
	d.headingBy(out, width/2, func(parts []string) printable.Raw { return printable.Raw(fit(width, parts)) })
	out.Printf("\n")
}

// headingBy writes the conclusion and two lines of parts, some of them "", with the target in so many columns.
func (d *data) headingBy(out *printable.Writer, columns int, line func(parts []string) printable.Raw) {
	if text := d.Conclusion(); text != "" {
		out.Printf("%s\n", d.paint(bold, tabular.Wrap(d.Options.Width, "; ", strings.Split(text, "; ")...)))
	}
	s, c := d.Summary(), d.Coverage()
	target := tabular.Shorten(printable.String(s.Target), columns)
	first := append([]string{target, d.span(&s), d.hiddenIntervals()}, s.Recorded(now())...)
	for _, parts := range [][]string{first, d.sumParts(&s, &c)} {
		for i := range parts { // a foreign profile's names of types and units
			parts[i] = printable.String(parts[i])
		}
		out.Printf("%s\n", line(parts))
	}
}

// fit joins parts from the first one on that fit into a line.
func fit(width int, parts []string) (line string) {
	for _, p := range parts {
		switch {
		case p == "":
		case line == "":
			line = tabular.Cut(p, width)
		case tabular.Fits(line+" · "+p, width):
			line += " · " + p
		}
	}
	return line
}

// span names the factors of wall time: the length of the recording, and its threads and tasks: "10.0s × 5 threads at
// 99 Hz".
func (d *data) span(s *view.Summary) string {
	var who []string
	if n := s.Threads + s.Hidden; n > 0 {
		who = append(who, tabular.Plural(int64(n), "thread"))
	}
	if n, kind := d.Tasks(); n > 0 {
		who = append(who, "about "+tabular.Plural(n, kind))
	}
	text, rate := "", ""
	if s.Duration > 0 {
		text = tabular.Nanos(s.Duration.Nanoseconds())
	}
	if s.Duration > 0 && s.Rate > 0 {
		rate = " at " + tabular.TrimFloat(s.Rate) + " Hz"
	}
	switch {
	case len(who) == 0:
		return text + rate
	case text == "":
		return strings.Join(who, " and ")
	case len(who) > 1:
		return text + " × (" + strings.Join(who, " + ") + ")" + rate
	}
	return text + " × " + who[0] + rate
}

// sumParts lists the sums of all clocks. The clock that has the value 100 % in the table comes first.
func (d *data) sumParts(s *view.Summary, c *view.SymbolCoverage) []string {
	all := d.Values()
	parts := []string{all[d.ValueIndex], c.ShareText()}
	slices.Reverse(all) // to CPU time, run queue, wall time
	for _, text := range all {
		if text != parts[0] {
			parts = append(parts, text)
		}
	}
	parts = append(parts, d.BlockedTotals()...)
	if s.Samples == 0 { // waits of tasks only
		return parts
	}
	return append(parts, tabular.Plural(s.Samples, "sample"))
}

var now = time.Now

func (d *data) hiddenIntervals() string {
	if d.Dropped == 0 {
		return ""
	}
	return fmt.Sprintf("%s of %s hidden by %s", tabular.Thousands(int64(d.Dropped)),
		tabular.Plural(int64(d.Dropped+len(d.Profile.Sample)), "interval"),
		strings.Join(d.Filters, " and "))
}

// hardlyRan reports that threads hardly ran or queued for a CPU, but waited.
func (d *data) hardlyRan() bool {
	wall, ok := d.TypeIndex(rec.TypeWall)
	if !ok || d.Options.Value != "" || d.Clock() != rec.TypeCPU {
		return false
	}
	c := d.Coverage()
	ready := c.Total
	if queue, ok := d.TypeIndex(rec.TypeRunQueue); ok {
		ready += d.Total(queue)
	}
	total := d.Total(wall)
	return total != 0 && (c.Total == 0 || c.TooLittleTime) && ready <= total/20
}

// whyWaits says why the table has waits in place of functions; it returns "" if it has not.
func (d *data) whyWaits() string {
	switch {
	case d.asksForFunctions(), d.Options.Value != "", d.Clock() != rec.TypeCPU:
		return ""
	case d.hardlyRan():
		return "Almost no CPU time"
	case d.OnlyWaits():
		return "Mostly waiting"
	}
	return ""
}

func suggest(flags string, o *Options) string {
	if o.File == "" {
		return "prywalk report " + flags
	}
	return "prywalk report " + flags + " " + o.File
}

// recordAgain is the next action after what names code.
const recordAgain = "record again"

// footnotes writes the first notes with something to do: those of the recording, then those of the stacks. Children
// with little time are for the conclusion. Connections without an answer are left out if the conclusion has them, and
// under a filter, as they can be other threads'.
func (d *data) footnotes(out *printable.Writer, shown []view.Row) {
	var notes []string
	why := d.WhyIncomplete()
	for _, comment := range d.Profile.Comments {
		again := why != "" && strings.HasPrefix(comment, "note: incomplete stacks: ") // the whole recording's
		children, used := runstats.ReadUnrecordedChildren(comment)
		if !strings.HasPrefix(comment, "prywalk: ") && !again && (children == "" || used > 0) &&
			!(strings.HasPrefix(comment, runstats.AtTheEnd) &&
				(len(d.Filters) > 0 || strings.Contains(d.Conclusion(), comment))) {
			notes = append(notes, comment+d.whereItEnds(comment))
		}
	}
	c := d.Coverage()
	if d.hardlyRan() {
		notes = append(notes, "Almost no CPU time: the threads were waiting. "+suggest("--by wait", &d.Options)+
			" shows for what.")
	}
	notes = append(append(notes, why), d.Notes(shown, recordAgain)...)
	notes = append(notes, d.UnnamedTimeText(&c))
	above := len(shown) > 0 || d.Options.By != ""
	for _, n := range runstats.FirstNotes(notes) {
		if above {
			out.Printf("\n")
		}
		out.Printf("%s\n", tabular.Paragraph(d.Options.Width, "  ", n))
		above = true
	}
}

// whereItEnds is the conclusion of the chains of a ring that a condition wrote, or "".
func (d *data) whereItEnds(comment string) string {
	if isPart(d.Filters) || !strings.HasPrefix(comment, "written because ") ||
		!strings.Contains(comment, " began to hold ") {
		return ""
	}
	r, err := chainsOf(d.Profile, d.Profile.Sample)
	if err != nil || len(r.Ends) == 0 || r.Ends[0].End.Kind == chains.Unknown {
		return ""
	}
	return "; " + r.Conclusion + " (" + suggest("--chains", &d.Options) + ")"
}

// isPart reports whether samples are left out by something other than time: owners and servers may be among these.
func isPart(filters []string) bool {
	return slices.ContainsFunc(filters, func(f string) bool { return f != view.TimeFilter })
}

// taskHint returns the time of threads that their tasks have instead.
func (d *data) taskHint() string {
	clock := d.Clock()
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

const (
	bold       = "\x1b[1m"
	dim        = "\x1b[2m"
	red        = "\x1b[31m"
	resetStyle = "\x1b[0m"
)

func (d *data) color(code, s string) printable.Raw {
	return d.paint(code, printable.Raw(printable.String(s)))
}

func (d *data) paint(code string, s printable.Raw) printable.Raw {
	if d.Options.Color {
		s = printable.Raw(code) + s + resetStyle
	}
	return s
}
