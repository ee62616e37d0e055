package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/google/pprof/profile"

	rec "prywalk/internal/profile"
	"prywalk/internal/tabular"
)

// heading writes what the profile is: the target and how much of its time has a function; the sums; how it was
// recorded. What is missing follows; below says where more of it is told.
func (d *data) heading(out *writer, below string) {
	s, c := d.summary(), d.coverage()
	width := d.opts.Width
	out.printf("%s\n%s\n", d.paint(bold, tabular.Wrap(width, " · ", s.parts(d.covered(&c))...)),
		tabular.Wrap(width, " · ", d.totals(&s)...))
	for _, line := range s.Comments {
		for _, part := range brief(line) {
			out.printf("%s\n", d.paint(dim, tabular.Paragraph(width, "  ", part)))
		}
	}
	for _, line := range []string{d.leftOut(), d.causes(&c, below)} {
		if line != "" {
			out.printf("%s\n", tabular.Paragraph(width, "  ", line))
		}
	}
	out.printf("\n")
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
	if d.dropped == 0 {
		return ""
	}
	return fmt.Sprintf("%s of %s left out by %s", tabular.Thousands(int64(d.dropped)),
		tabular.Plural(int64(d.dropped+len(d.prof.Sample)), "stack"),
		strings.Join(d.filters, " and "))
}

// waited tells who asks where the time went of threads that hardly ran where to look, "" of others.
func (d *data) waited() string {
	wall, ok := d.has(rec.TypeWall)
	if !ok || d.opts.Value != "" || d.prof.SampleType[d.value].Type != rec.TypeCPU {
		return ""
	}
	c := d.coverage()
	if total := d.total(wall); total == 0 || c.total > 0 && !c.slight || c.total > total/20 {
		return ""
	}
	return "Hardly any CPU time: the threads waited. prywalk report --by wait shows what for."
}

// footnotes writes what is to be said of the rows above.
func (d *data) footnotes(out *writer, shown []row) {
	for _, n := range append(d.notes(shown), d.waited()) {
		if n != "" {
			out.printf("\n%s\n", tabular.Paragraph(d.opts.Width, "  ", n))
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
	out := &writer{w: w}
	s, c := d.summary(), d.coverage()
	out.printf("%s\n%s\n", d.paint(bold, tabular.Wrap(o.Width, " · ", s.parts(d.covered(&c))...)),
		tabular.Wrap(o.Width, " · ", d.totals(&s)...))
	for _, comment := range s.Comments {
		for _, line := range accounts(comment) {
			out.printf("%s\n", tabular.Paragraph(o.Width, "  ", line))
		}
	}
	if len(s.Comments) == 0 {
		out.printf("the profile says nothing of how it was made\n")
	}
	return out.err
}
