// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"io"

	"github.com/google/pprof/profile"

	"prywalk/internal/base/printable"
	"prywalk/internal/base/tabular"
	"prywalk/internal/show/view"
)

// Table writes functions with self and total values, largest first.
func Table(w io.Writer, p *profile.Profile, o Options) error {
	return writeForm(w, p, o, func(d *data, out *printable.Writer) error {
		if why := d.whyWaits(); why != "" {
			o.By, o.N = "wait", cmp.Or(o.N, firstWaits)
			if err := Table(w, p, o); err != nil {
				return err
			}
			out.Printf("\n%s\n", tabular.Paragraph(o.Width, "  ", why+", so these are the waits: "+
				suggest("--by wait", &o)+" shows all, --value cpu functions."))
			return nil
		}
		d.heading(out)
		if a := d.application(); a != nil {
			d.footnotes(out, d.applicationTable(out, a))
		} else if o.By == "" {
			d.footnotes(out, d.table(out, d.Profile.Sample, d.Limit(30), ""))
		} else {
			d.groups(out)
		}
		return nil
	})
}

// asksForFunctions reports options that say what the table is to show.
func (d *data) asksForFunctions() bool {
	o := &d.Options
	return o.By != "" || o.Full || o.Sort != "" || o.Lines || o.Native
}

const (
	pipeWidth  = 100
	firstWaits = 3 // of threads without CPU time
)

// tableWidth is in columns; 0 means that it is not limited.
func tableWidth(o *Options) int {
	switch {
	case o.FullNames:
		return 0
	case o.Width == 0:
		return pipeWidth
	}
	return o.Width
}

func (d *data) table(out *printable.Writer, samples []*profile.Sample, limit int, indent string) (shown []view.Row) {
	rows := d.Rows(samples)
	if len(rows) == 0 {
		return nil
	}
	shown = rows[:min(len(rows), limit)]
	if d.OnlyBlocked() && d.Options.By == "lock" && d.Options.N == 0 {
		shown = d.withoutWaiting(rows, limit)
	}
	d.writeRows(out, shown, indent, func(view.Row, int) {})
	if rest := len(rows) - len(shown); rest > 0 {
		out.Printf("%s%s\n", indent, d.color(dim, "… "+tabular.Plural(int64(rest), "more function")))
	}
	return shown
}

// writeRows calls after behind each row, with the number of columns before names.
func (d *data) writeRows(out *printable.Writer, rows []view.Row, indent string, after func(r view.Row, used int)) {
	heads, figures := d.valueColumns(rows)
	used := len(indent) + tabular.PrintedWidth(heads)
	head, names := d.nameColumns(used, d.FramesOf(rows))
	out.Printf("%s%s\n", indent, d.color(dim, heads+head))
	for i, r := range rows {
		out.Printf("%s%s%s%s\n", indent, d.markLarge(figures[i][0], r.Self), figures[i][1], names[i])
		after(r, used)
	}
}

// withoutWaiting omits rows that only show that an owner slept: the kernel's, and those of language and system without
// self time; unless no others remain.
func (d *data) withoutWaiting(rows []view.Row, limit int) []view.Row {
	var kept []view.Row
	for _, r := range rows {
		f := &d.Table.Frames[r.Frame]
		if f.Module != view.KernelModule && (r.Self > 0 || !f.IsSupport()) && len(kept) < limit {
			kept = append(kept, r)
		}
	}
	if len(kept) == 0 {
		return rows[:min(len(rows), limit)]
	}
	return kept
}

func (d *data) valueColumns(rows []view.Row) (heads string, cells [][2]string) {
	return d.ValueColumns(rows, len("100%"), len("100%"))
}

func (d *data) nameColumns(used int, frames []*view.Frame) (head string, cells []string) {
	return d.NameColumns(tableWidth(&d.Options), used, 0, frames, frames)
}

func (d *data) markLarge(s string, v int64) printable.Raw {
	if all := int64(d.Precision.Total); all == 0 || 20*v < all {
		return printable.Raw(s)
	}
	return d.color(red, s)
}
