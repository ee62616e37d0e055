// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"strings"

	"prywalk/internal/base/printable"
	"prywalk/internal/base/tabular"
	"prywalk/internal/show/view"
)

const (
	maxFolds = 3
	// minFold is the inverse of the smallest share that is shown of a library.
	minFold = 100
)

// application returns what replaces the table of all functions, or nil.
func (d *data) application() *view.Application {
	if d.asksForFunctions() {
		return nil
	}
	return d.Application()
}

// applicationTable writes the program's own functions, with libraries folded into those that called them.
func (d *data) applicationTable(out *printable.Writer, a *view.Application) (shown []view.Row) {
	shown = a.Rows[:min(len(a.Rows), d.Limit(30))]
	d.writeRows(out, shown, "", func(r view.Row, used int) {
		if text := d.foldsText(a.Folds[r.Frame]); text != "" {
			width := tableWidth(&d.Options)
			if width > 0 {
				width = max(width, used+tabular.MinNameColumn)
			}
			out.Printf("%s%s\n", strings.Repeat(" ", used),
				d.paint(dim, tabular.HangingIndent(width, used, "…in "+text)))
		}
	})
	rest := "--full shows the functions of libraries, too"
	if text := d.foldsText(a.Folds[view.Outside]); text != "" {
		rest = "outside of these functions: " + text + "; " + rest
	}
	if n := len(a.Rows) - len(shown); n > 0 {
		rest = tabular.Plural(int64(n), "more function") + " of the program; " + rest
	}
	out.Printf("%s\n", d.paint(dim, tabular.Paragraph(d.Options.Width, "  ", "… "+rest)))
	return shown
}

// foldsText names the largest libraries with their shares of the whole.
func (d *data) foldsText(folds []*view.Fold) string {
	var parts []string
	for _, f := range folds[:min(len(folds), maxFolds)] {
		if float64(f.Value)*minFold < d.Precision.Total {
			break
		}
		text := fmt.Sprintf("%s (%s)", printable.String(f.Library), d.Precision.Share(f.Value))
		parts = append(parts, text+d.oftenText(f))
	}
	return strings.Join(parts, ", ")
}

func (d *data) oftenText(f *view.Fold) string {
	if !f.IsOften(d.Profile.Period) {
		return ""
	}
	return fmt.Sprintf(", called often (%s short stays were seen, from line %d)", tabular.Thousands(int64(f.Stays)),
		f.Line)
}
