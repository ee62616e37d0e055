// SPDX-License-Identifier: Apache-2.0

package top

import (
	"cmp"
	"slices"
	"strings"

	"prywalk/internal/base/printable"
	"prywalk/internal/base/tabular"
	"prywalk/internal/show/conclusion"
	"prywalk/internal/show/view"
)

// application keeps the program's own functions of rows, the largest total first, each with the library that it called
// for longest; nil if too much time is under none of them, as in report.
func (snap *Snapshot) application(rows []FunctionRow, c Clock, prec tabular.Precision) []FunctionRow {
	if !slices.ContainsFunc(rows, func(r FunctionRow) bool { return r.IsOwn() }) {
		return nil
	}
	calls, outside := map[int32]map[string]int64{}, int64(0)
	program := snap.programModule()
	frame := func(n int32) *view.Frame { return &snap.frames[n].Frame }
	for i := range snap.Cells {
		cell := &snap.Cells[i]
		inner := slices.IndexFunc(cell.stack, func(n int32) bool { return frame(n).IsOwn() })
		if inner < 0 {
			outside += cell.v.of(c)
		} else if inner > 0 {
			own := cell.stack[inner]
			if calls[own] == nil {
				calls[own] = map[string]int64{}
			}
			calls[own][view.CalledAs(cell.stack[:inner], program, frame)] += cell.v.of(c)
		}
	}
	if outside*view.MaxOutside > snap.total().of(c) {
		return nil
	}
	rows = slices.DeleteFunc(slices.Clone(rows), func(r FunctionRow) bool { return !r.IsOwn() })
	for i := range rows {
		library, v := conclusion.Largest(calls[rows[i].id], strings.Compare)
		if v > 0 && 100*float64(v) >= prec.Total {
			rows[i].calls = "…in " + printable.String(library) + " (" + prec.Share(v) + ")"
		}
	}
	slices.SortFunc(rows, func(a, b FunctionRow) int {
		return cmp.Or(cmp.Compare(b.Total.of(c), a.Total.of(c)), cmp.Compare(b.depth, a.depth), cmp.Compare(a.id, b.id))
	})
	return rows
}
