package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/google/pprof/profile"

	"prywalk/internal/printable"
	rec "prywalk/internal/profile"
	"prywalk/internal/tabular"
)

// row is one function's values.
type row struct {
	frame       int32
	self, total int64
	depth       float64 // how far in the function stands, values times frames; 0 is innermost
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
				rows[n].depth += float64(v) * float64(depth)
			}
		}
	}
	d.sort(rows, d.opts.waits() && len(samples) > 0 && (d.blames() || label(samples[0], rec.LabelWait) != ""))
	return rows
}

// sort puts the most expensive first. Of callers with nothing of their own those of the program come before those of
// the language and the system, and of equal ones the inner before the outer.
//
// asleep: all are of threads that wait. Who waits is seen in the program's functions, which have nothing of their own
// then, and come before all others.
func (d *data) sort(rows []row, asleep bool) {
	var all int64
	for i := range rows {
		all += rows[i].self
	}
	far := func(r row) float64 { return r.depth / max(1, float64(r.total)) }
	minor := func(r row, f *frame) int { // of little weight: no reason to come first
		return map[bool]int{true: 1, false: f.support()}[10*r.total < all]
	}
	slices.SortFunc(rows, func(a, b row) int {
		x, y := &d.frames[a.frame], &d.frames[b.frame]
		if asleep || d.opts.waits() && a.self == 0 && b.self == 0 {
			if c := cmp.Compare(minor(a, x), minor(b, y)); c != 0 {
				return c
			}
		}
		return cmp.Or(cmp.Compare(b.self, a.self), cmp.Compare(b.total, a.total), cmp.Compare(x.support(), y.support()),
			cmp.Compare(far(a), far(b)), cmp.Compare(x.name, y.name), cmp.Compare(x.module, y.module),
			cmp.Compare(x.line, y.line))
	})
}

// waits reports whether the groups are of what threads wait in.
func (o *Options) waits() bool { return o.By == "wait" || o.By == "state" || o.By == "lock" }

// Table writes the functions with their own and their total values, the most
// expensive first.
func Table(w io.Writer, p *profile.Profile, o Options) error {
	d, err := prepare(p, o)
	if err != nil {
		return err
	}
	out := &writer{w: w}
	d.heading(out, seeBelow)
	if o.By == "" {
		d.footnotes(out, d.table(out, d.prof.Sample, d.limit(30), ""))
	} else {
		d.groups(out)
	}
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

// table writes the rows of some samples.
func (d *data) table(out *writer, samples []*profile.Sample, limit int, indent string) (shown []row) {
	rows := d.rows(samples)
	shown = rows[:min(len(rows), limit)]
	heads, figures := d.figures(shown)
	name, module := len(d.columnName()), 0
	for _, r := range shown {
		f := &d.frames[r.frame]
		name, module = max(name, tabular.Runes(f.shown())), max(module, tabular.Runes(f.module))
	}
	wide := tabular.Fit(d.opts.Width, len(indent)+tabular.Runes(heads), name, max(module, len("module")))
	line := heads + d.columnName()
	if wide.Module > 0 {
		line = heads + tabular.Pad(d.columnName(), wide.Name) + "  module"
	}
	out.printf("%s%s\n", indent, d.color(dim, line))
	for i, r := range shown {
		f := &d.frames[r.frame]
		name := tabular.Shorten(printable.String(f.shown()), wide.Name)
		if f.module != "" && wide.Module > 0 {
			name = tabular.Pad(name, wide.Name) + "  " + tabular.ShortModule(printable.String(f.module), wide.Module)
		}
		out.printf("%s%s%s%s\n", indent, d.heat(figures[i][0], r.self), figures[i][1], name)
	}
	if rest := len(rows) - len(shown); rest > 0 {
		out.printf("%s%s\n", indent, d.color(dim, "… "+tabular.Plural(int64(rest), "more function")))
	}
	return shown
}

// figures gives the heads of the columns of figures, and each row's: its own share, and the others.
func (d *data) figures(rows []row) (heads string, figures [][2]string) {
	figures = make([][2]string, len(rows))
	column := func(head, space string, value func(int64) string, of func(row) int64) {
		cells := []string{head}
		for _, r := range rows {
			cells = append(cells, value(of(r)))
		}
		if strings.HasSuffix(head, "%") {
			cells = append(cells[:1], tabular.Aligned(cells[1:])...)
		}
		cells = tabular.Right(cells, len("100%"))
		for i := range rows {
			if heads == "" {
				figures[i] = [2]string{cells[i+1], space} // the first stands alone: it may be marked
			} else {
				figures[i][1] += cells[i+1] + space
			}
		}
		heads += cells[0] + space
	}
	for _, c := range []struct {
		name string
		of   func(row) int64
	}{{"self", func(r row) int64 { return r.self }}, {"total", func(r row) int64 { return r.total }}} {
		column(c.name+"%", " ", d.prec.Share, c.of)
		if d.opts.Intervals {
			column("±", " ", d.prec.Within, c.of)
		}
		column(c.name, "  ", func(v int64) string { return d.prec.Value(v, d.unit) }, c.of)
	}
	return heads, figures
}

// columnName heads the column of names, and says what the figures are of.
func (d *data) columnName() string {
	return fmt.Sprintf("function (%s)", printable.String(d.prof.SampleType[d.value].Type))
}

// heat marks large shares.
func (d *data) heat(s string, v int64) printable.Raw {
	if all := int64(d.prec.Total); all == 0 || 20*v < all {
		return printable.Raw(s)
	}
	return d.color(red, s)
}
