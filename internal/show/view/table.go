// SPDX-License-Identifier: Apache-2.0

package view

import (
	"fmt"
	"strings"

	"prywalk/internal/base/printable"
	"prywalk/internal/base/tabular"
)

// ValueColumns formats the values of functions in columns of these widths or more; value 0: shares only. A row has two
// cells: the first column, which may be coloured, and all others.
func (d *Data) ValueColumns(rows []Row, share, value int) (heads string, cells [][2]string) {
	cells = make([][2]string, len(rows))
	column := func(head, space string, width int, text func(int64) string, of func(Row) int64) {
		column := []string{head}
		for _, r := range rows {
			column = append(column, text(of(r)))
		}
		if strings.HasSuffix(head, "%") {
			column = append(column[:1], tabular.Aligned(column[1:])...)
		}
		column = tabular.AlignRight(column, width)
		for i := range rows {
			if heads == "" {
				cells[i] = [2]string{column[i+1], space}
			} else {
				cells[i][1] += column[i+1] + space
			}
		}
		heads += column[0] + space
	}
	for _, c := range []struct {
		name string
		of   func(Row) int64
	}{{"self", func(r Row) int64 { return r.Self }}, {"total", func(r Row) int64 { return r.Total }}} {
		column(c.name+"%", " ", share, d.Precision.Share, c.of)
		if d.Options.Intervals {
			column("±", " ", share, d.Precision.Within, c.of)
		}
		if value > 0 {
			column(c.name, "  ", value, func(v int64) string { return d.Precision.Value(v, d.Unit) }, c.of)
		}
	}
	return heads, cells
}

// NameColumns formats names and modules as wide as those of all need, names as least at least, for a table of a width
// (0: unlimited) whose other columns use a part of it.
func (d *Data) NameColumns(width, used, least int, frames, all []*Frame) (head string, cells []string) {
	head = fmt.Sprintf("function (%s)", printable.String(d.Clock()))
	name, module := max(len(head), least), len("module")
	for _, f := range all {
		name, module = max(name, tabular.PrintedWidth(f.DisplayName())), max(module, tabular.PrintedWidth(f.Module))
	}
	wide := tabular.FitColumns(width, used, name, module)
	if wide.Module > 0 {
		head = tabular.Pad(head, wide.Name) + "  module"
	}
	for _, f := range frames {
		cell := f.FitName(wide.Name)
		if f.Module != "" && wide.Module > 0 {
			cell = tabular.Pad(cell, wide.Name) + "  " + tabular.Cut(printable.String(f.Module), wide.Module)
		}
		cells = append(cells, cell)
	}
	return head, cells
}

// FramesOf returns the functions of rows.
func (d *Data) FramesOf(rows []Row) (frames []*Frame) {
	for _, r := range rows {
		frames = append(frames, &d.Frames[r.Frame])
	}
	return frames
}
