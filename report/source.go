// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/google/pprof/profile"

	"prywalk/internal/base/printable"
	"prywalk/internal/base/tabular"
	"prywalk/internal/code/sourcelines"
	"prywalk/internal/show/view"
)

// Source writes matching functions' lines with values. Text is read below [Options].SourceDir, or, if the user
// owns the file, from the recorded path.
func Source(w io.Writer, p *profile.Profile, function string, o Options) error {
	return writeForm(w, p, o, func(d *data, out *printable.Writer) error {
		want, err := view.Compile("source", function)
		if err != nil {
			return err
		}
		files := &sourcelines.Files{Dir: o.SourceDir, Own: true}
		funcs := sourcelines.Functions(d.Profile, want, d.ValueIndex)
		if len(funcs) == 0 {
			return fmt.Errorf("no function with line numbers matches %q; lines need debug information (prywalk doctor "+
				"-p PID)", function)
		}
		d.heading(out)
		for i, f := range funcs {
			if i > 0 {
				out.Printf("\n")
			}
			d.sourceLines(out, files, f)
		}
		return nil
	})
}

func (d *data) sourceLines(out *printable.Writer, files *sourcelines.Files, f *sourcelines.Function) {
	text, err := files.Read(f.File) // on error, lines are written without text
	lines := slices.SortedFunc(maps.Values(f.ByLine), func(a, b *sourcelines.Line) int { return cmp.Compare(a.N, b.N) })
	var rows []view.Row
	for _, l := range lines {
		rows = append(rows, view.Row{Self: l.Self, Total: l.Total})
	}
	out.Printf("%s\n", d.paint(bold, tabular.Wrap(d.Options.Width, "  ", tabular.Shorten(printable.String(f.Name),
		d.Options.Width), f.File)))
	if err != nil {
		why := err.Error()
		if errors.Is(err, os.ErrNotExist) {
			why = "file not found; give its directory with --source-dir"
		}
		out.Printf("%s\n", d.paint(dim, tabular.Paragraph(d.Options.Width, "  ", "no source text: "+why)))
	}
	heads, figures := d.valueColumns(rows)
	out.Printf("%s\n", d.color(dim, heads+"  line"))
	for i, l := range lines {
		code := ""
		if n := int(l.N) - 1; n >= 0 && n < len(text) {
			code = "  " + strings.TrimRight(strings.ReplaceAll(text[n], "\t", "    "), "\r")
		}
		line := fmt.Sprintf("%6d%s", l.N, code)
		if d.Options.Width > 0 {
			line = tabular.Cut(line, max(tabular.MinNameColumn, d.Options.Width-tabular.PrintedWidth(heads)))
		}
		out.Printf("%s%s%s\n", d.markLarge(figures[i][0], rows[i].Self), figures[i][1], line)
	}
}
