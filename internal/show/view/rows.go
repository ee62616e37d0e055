// SPDX-License-Identifier: Apache-2.0

package view

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/google/pprof/profile"
	"prywalk/internal/base/incomplete"
	"prywalk/internal/base/printable"
	"prywalk/internal/base/tabular"
	rec "prywalk/internal/store/profile"
)

// Row is a function's values.
type Row struct {
	Frame       int32
	Self, Total int64
	depth       float64 // sum of value × distance from the innermost frame
}

// Rows sums samples by frame; Total counts a frame once per sample.
func (d *Data) Rows(samples []*profile.Sample) []Row {
	var rows []Row
	rowOf := map[int32]int{}      // by frame
	lastSample := map[int32]int{} // by frame: the number, from 1, of the last sample that has it
	for i, s := range samples {
		v := s.Value[d.ValueIndex]
		if v == 0 {
			continue
		}
		for depth, f := range d.Table.Stack(s) {
			n, ok := rowOf[f]
			if !ok {
				n = len(rows)
				rowOf[f] = n
				rows = append(rows, Row{Frame: f})
			}
			if depth == 0 {
				rows[n].Self += v
			}
			if lastSample[f] != i+1 {
				lastSample[f] = i + 1
				rows[n].Total += v
				rows[n].depth += float64(v) * float64(depth)
			}
		}
	}
	asleep := len(samples) > 0 && (d.OnlyBlocked() || Label(samples[0], rec.LabelWait) != "")
	d.sort(rows, d.groupsWaits() && asleep)
	incomplete.Raise(rows, func(r *Row) (string, int64, int64) {
		if f := &d.Table.Frames[r.Frame]; f.incomplete() {
			return f.Name, r.Self, r.Total
		}
		return "", r.Self, r.Total
	})
	return rows
}

// Orders returns the values of [Options].Sort.
func Orders() []string { return []string{"self", "total"} }

// sort orders rows by self, then total value, or as [Options].Sort says; of equal ones, the program's functions and
// inner ones come first. If asleep (waiting threads), small functions and those of language and system are last.
func (d *Data) sort(rows []Row, asleep bool) {
	var all int64
	for i := range rows {
		all += rows[i].Self
	}
	far := func(r Row) float64 { return r.depth / max(1, float64(r.Total)) }
	minor := func(r Row, f *Frame) int { // 1 for functions of language and system, and small ones
		if 10*r.Total < all {
			return 1
		}
		return f.supportRank()
	}
	slices.SortFunc(rows, func(a, b Row) int {
		x, y := &d.Table.Frames[a.Frame], &d.Table.Frames[b.Frame]
		if d.Options.Sort == "total" && a.Total != b.Total {
			return cmp.Compare(b.Total, a.Total)
		}
		if d.Options.Sort == "" && (asleep || d.groupsWaits() && a.Self == 0 && b.Self == 0) {
			if c := cmp.Compare(minor(a, x), minor(b, y)); c != 0 {
				return c
			}
		}
		return cmp.Or(cmp.Compare(b.Self, a.Self), cmp.Compare(b.Total, a.Total),
			cmp.Compare(x.supportRank(), y.supportRank()), cmp.Compare(far(a), far(b)), cmp.Compare(x.Name, y.Name),
			cmp.Compare(x.Module, y.Module), cmp.Compare(x.Line, y.Line))
	})
}

func (sel *Selection) groupsWaits() bool {
	by := sel.Options.By
	return by == "wait" || by == "state" || by == "lock"
}

// Limit returns the number of rows to show.
func (sel *Selection) Limit(standard int) int {
	switch {
	case sel.Options.N == 0:
		return standard
	case sel.Options.N < 0:
		return math.MaxInt
	}
	return sel.Options.N
}

// OnlyBlocked reports whether blocked time is the only type of values, as in a profile of blame.
func (sel *Selection) OnlyBlocked() bool {
	return len(sel.Profile.SampleType) == 1 && sel.Profile.SampleType[0].Type == TypeBlocked
}

// Sums returns the sum of each type of values.
func (sel *Selection) Sums(samples []*profile.Sample) []int64 {
	sum := make([]int64, len(sel.Profile.SampleType))
	for _, s := range samples {
		Add(sum, s.Value)
	}
	return sum
}

// Add adds each value.
func Add(to, values []int64) {
	for i, v := range values {
		to[i] += v
	}
}

// FunctionSums are a function's values of all types.
type FunctionSums struct{ Self, Total []int64 }

// SumsCost is the memory of one function's sums, in bytes.
func SumsCost(types int) int64 { return 256 + 16*int64(types) }

// SumFunctions returns all functions' rows, those without the chosen value last, and their values by frame. The caller
// gives back taken, in bytes.
func (d *Data) SumFunctions(samples []*profile.Sample) (rows []Row, all map[int32]*FunctionSums, taken int64) {
	all = map[int32]*FunctionSums{}
	types := len(d.Profile.SampleType)
	addFunction := func(f int32) {
		taken += SumsCost(types)
		d.Memory.Take(SumsCost(types))
		all[f] = &FunctionSums{make([]int64, types), make([]int64, types)}
	}
	rows = d.Rows(samples)
	for _, r := range rows {
		addFunction(r.Frame)
	}
	seen := map[int32]int{}
	for i, s := range samples {
		for depth, f := range d.Table.Stack(s) {
			if all[f] == nil {
				addFunction(f)
				rows = append(rows, Row{Frame: f})
			}
			if depth == 0 {
				Add(all[f].Self, s.Value)
			}
			if seen[f] != i+1 {
				seen[f] = i + 1
				Add(all[f].Total, s.Value)
			}
		}
	}
	return rows, all, taken
}

// ValueColumns formats the values of functions in columns of these widths or more; width 0 of values means shares only.
// A row has two cells: the first column, which may be coloured, and all others.
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
// (0 means that it is not limited) whose other columns use a part of it.
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
		frames = append(frames, &d.Table.Frames[r.Frame])
	}
	return frames
}
