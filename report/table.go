package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"unicode/utf8"

	"github.com/google/pprof/profile"

	"prywalk/internal/printable"
)

// row is one function's values.
type row struct {
	frame       int32
	self, total int64
}

// rows adds up the samples by frame. A frame counts once for each sample in total.
func (d *data) rows(samples []*profile.Sample) []row {
	var rows []row
	at := map[int32]int{}
	seen := map[int32]int{} // the last sample in which a frame was met
	for i, s := range samples {
		v := s.Value[d.value]
		if v == 0 {
			continue
		}
		for depth, f := range d.stack(s) {
			n, ok := at[f]
			if !ok {
				n = len(rows)
				at[f] = n
				rows = append(rows, row{frame: f})
			}
			if depth == 0 {
				rows[n].self += v
			}
			if seen[f] != i+1 {
				seen[f] = i + 1
				rows[n].total += v
			}
		}
	}
	slices.SortFunc(rows, func(a, b row) int {
		return cmp.Or(cmp.Compare(b.self, a.self), cmp.Compare(b.total, a.total),
			cmp.Compare(d.frames[a.frame].name, d.frames[b.frame].name),
			cmp.Compare(d.frames[a.frame].module, d.frames[b.frame].module),
			cmp.Compare(d.frames[a.frame].line, d.frames[b.frame].line))
	})
	return rows
}

// Table writes the functions with their own and their total values, the most
// expensive first.
func Table(w io.Writer, p *profile.Profile, o Options) error {
	d, err := prepare(p, o)
	if err != nil {
		return err
	}
	out := &writer{w: w}
	d.heading(out)
	total := d.total(d.value)
	if o.By == "" {
		d.table(out, d.prof.Sample, total, d.limit(30), "")
		return out.err
	}
	d.groups(out, total)
	return out.err
}

// limit is the number of rows to show.
func (d *data) limit(standard int) int {
	switch {
	case d.opts.N == 0:
		return standard
	case d.opts.N < 0:
		return int(^uint(0) >> 1)
	}
	return d.opts.N
}

// heading writes what the profile is.
func (d *data) heading(out *writer) {
	s := d.summary()
	out.printf("%s\n%s\n", d.color(bold, s.line()), d.totals())
	if line := d.leftOut(); line != "" {
		out.printf("%s\n", line)
	}
	for _, c := range s.Comments {
		out.printf("%s\n", d.color(dim, c))
	}
	out.printf("\n")
}

// leftOut tells what the filters have removed, "" if nothing.
func (d *data) leftOut() string {
	if d.dropped == 0 {
		return ""
	}
	return fmt.Sprintf("%s of %s left out by --focus and --ignore", thousands(int64(d.dropped)), plural(int64(d.dropped+len(d.prof.Sample)), "stack"))
}

// table writes the rows of some samples.
func (d *data) table(out *writer, samples []*profile.Sample, total int64, limit int, indent string) {
	rows := d.rows(samples)
	shown := rows[:min(len(rows), limit)]
	width := d.nameWidth(shown)
	heads := fmt.Sprintf("%7s %9s %7s %9s  %s  %s", "self%", "self", "total%", "total", pad(d.columnName(), width), "module")
	out.printf("%s%s\n", indent, d.color(dim, heads))
	for _, r := range shown {
		f := &d.frames[r.frame]
		name := shorten(printable.String(f.label()), width)
		if f.module != "" {
			name = pad(name, width) + "  " + printable.String(f.module)
		}
		out.printf("%s%s %9s %7s %9s  %s\n", indent,
			d.heat(fmt.Sprintf("%7s", percent(r.self, total)), r.self, total), format(r.self, d.unit),
			percent(r.total, total), format(r.total, d.unit), name)
	}
	if rest := len(rows) - len(shown); rest > 0 {
		out.printf("%s%s\n", indent, d.color(dim, "… "+plural(int64(rest), "more function")))
	}
}

// columnName heads the column of names, and says what the figures are of.
func (d *data) columnName() string { return "function (" + d.prof.SampleType[d.value].Type + ")" }

// heat marks large shares.
func (d *data) heat(s string, v, total int64) printable.Raw {
	if total == 0 || 20*v < total {
		return printable.Raw(s)
	}
	return d.color(red, s)
}

// nameWidth is the width of the column of names.
func (d *data) nameWidth(rows []row) int {
	limit := 72
	if d.opts.Width > 0 {
		limit = max(24, d.opts.Width-60)
	}
	width := len(d.columnName())
	for _, r := range rows {
		width = max(width, utf8.RuneCountInString(printable.String(d.frames[r.frame].label())))
	}
	if d.opts.Width == 0 { // nothing is cut; only the padding is bounded
		return min(width, 1<<12)
	}
	return min(width, limit)
}
