// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/google/pprof/profile"

	"prywalk/internal/printable"
	rec "prywalk/internal/profile"
	"prywalk/internal/tabular"
	"prywalk/internal/view"
)

// heading writes what the profile is: the target and how much of its time has a function; the sums; how it was
// recorded. What is missing follows; below says where more of it is told.
func (d *data) heading(out *printable.Writer, below string) {
	s, c := d.Summary(), d.Coverage()
	width := d.Options.Width
	out.Printf("%s\n%s\n", d.paint(bold, tabular.Wrap(width, " · ", s.Parts(d.Covered(&c))...)),
		tabular.Wrap(width, " · ", d.totals(&s)...))
	for _, line := range s.Comments {
		for _, part := range brief(line) {
			out.Printf("%s\n", d.paint(dim, tabular.Paragraph(width, "  ", part)))
		}
	}
	for _, line := range []string{d.leftOut(), d.Causes(&c, below), d.WhyIncomplete()} {
		if line != "" {
			out.Printf("%s\n", tabular.Paragraph(width, "  ", line))
		}
	}
	out.Printf("\n")
}

// now is the time that recordings are said to be old by; tests have another.
var now = time.Now

// totals are the sums, and when they were recorded.
func (d *data) totals(s *view.Summary) []string {
	parts := d.Totals(s)
	if when := s.Recorded(now()); when != "" {
		parts = append(parts, when)
	}
	return parts
}

// seeBelow: the notes stand at the end.
const seeBelow = " (see below)"

// accountEnds separates what heads a report from the rest of the accounting, in the recording's comment.
const accountEnds = " | "

// brief is what heads a report of a comment: prywalk's own accounts begin with what people need, other comments are
// shown whole.
func brief(comment string) []string {
	if line, ok := strings.CutPrefix(comment, "prywalk: "); ok {
		line, _, short := strings.Cut(line, accountEnds)
		if !short { // an earlier recording
			return nil
		}
		return []string{line}
	}
	return []string{comment}
}

// leftOut tells what the filters have removed, "" if nothing.
func (d *data) leftOut() string {
	if d.Dropped == 0 {
		return ""
	}
	return fmt.Sprintf("%s of %s hidden by %s", tabular.Thousands(int64(d.Dropped)),
		tabular.Plural(int64(d.Dropped+len(d.Profile.Sample)), "stack"),
		strings.Join(d.Filters, " and "))
}

// waited tells who asks where the time went of threads that hardly ran where to look, "" of others.
func (d *data) waited() string {
	wall, ok := d.Has(rec.TypeWall)
	if !ok || d.Options.Value != "" || d.Profile.SampleType[d.Value].Type != rec.TypeCPU {
		return ""
	}
	c := d.Coverage()
	if total := d.Total(wall); total == 0 || c.Total > 0 && !c.Slight || c.Total > total/20 {
		return ""
	}
	return "Almost no CPU time: the threads were waiting. prywalk report --by wait shows for what."
}

// footnotes writes what is to be said of the rows above.
func (d *data) footnotes(out *printable.Writer, shown []view.Row) {
	for _, n := range append(d.Notes(shown), d.waited()) {
		if n != "" {
			out.Printf("\n%s\n", tabular.Paragraph(d.Options.Width, "  ", n))
		}
	}
}

// accounts divides a comment into lines: prywalk's own accounts into what each says, others not.
func accounts(comment string) (lines []string) {
	text, own := strings.CutPrefix(comment, "prywalk: ")
	if !own {
		return []string{comment}
	}
	for _, part := range strings.Split(text, accountEnds) {
		lines = append(lines, strings.Split(part, "; ")...)
	}
	return lines
}

// Account writes how a recording was made: all that its comments say.
func Account(w io.Writer, p *profile.Profile, o Options) error {
	d, err := prepare(p, o)
	if err != nil {
		return err
	}
	defer d.Close()
	out := printable.NewWriter(d.Writer(w))
	s, c := d.Summary(), d.Coverage()
	out.Printf("%s\n%s\n", d.paint(bold, tabular.Wrap(o.Width, " · ", s.Parts(d.Covered(&c))...)),
		tabular.Wrap(o.Width, " · ", d.totals(&s)...))
	for _, comment := range s.Comments {
		for _, line := range accounts(comment) {
			out.Printf("%s\n", tabular.Paragraph(o.Width, "  ", line))
		}
	}
	if len(s.Comments) == 0 {
		out.Printf("the profile has no comments on how it was recorded\n")
	}
	return cmp.Or(d.Err(), out.Err())
}
