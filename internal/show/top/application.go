// SPDX-License-Identifier: Apache-2.0

package top

import (
	"cmp"
	"slices"
	"strings"

	"prywalk/internal/base/printable"
	"prywalk/internal/base/tabular"
	"prywalk/internal/show/view"
)

const (
	maxCalls = 2
	// minCall is the inverse of the smallest share that is shown of a library.
	minCall = 100
)

// libraryCall is the time in a library while one of the program's functions waits for its return.
type libraryCall struct {
	library string
	value   int64
}

// application keeps the program's own functions of rows, the largest total first, with what they called; nil without
// such functions, or if too much time is under none of them, as in report.
func (snap *Snapshot) application(rows []FunctionRow, c Clock, prec tabular.Precision) (own []FunctionRow) {
	calls, outside := snap.libraryCalls(c)
	for _, r := range rows {
		if r.IsOwn() {
			r.calls = callsText(calls[r.id], prec)
			own = append(own, r)
		}
	}
	if outside*view.MaxOutside > snap.total().of(c) {
		return nil
	}
	far := func(r *FunctionRow) float64 { return r.depth / max(1, float64(r.Total.Wall)) }
	slices.SortFunc(own, func(a, b FunctionRow) int {
		return cmp.Or(cmp.Compare(b.Total.of(c), a.Total.of(c)), cmp.Compare(far(&b), far(&a)),
			cmp.Compare(a.Name, b.Name), cmp.Compare(a.Module, b.Module))
	})
	return own
}

// libraryCalls are by function of the program; outside is the time under none.
func (snap *Snapshot) libraryCalls(c Clock) (calls map[int32]map[string]int64, outside int64) {
	calls = map[int32]map[string]int64{}
	program := snap.programModule()
	frame := func(n int32) *view.Frame { return &snap.frames[n].Frame }
	for i := range snap.Cells {
		cell := &snap.Cells[i]
		v := cell.v.of(c)
		switch inner := slices.IndexFunc(cell.stack, func(n int32) bool { return frame(n).IsOwn() }); {
		case inner < 0:
			outside += v
		case inner > 0 && v > 0:
			own := cell.stack[inner]
			if calls[own] == nil {
				calls[own] = map[string]int64{}
			}
			calls[own][view.CalledAs(cell.stack[:inner], program, frame)] += v
		}
	}
	return calls, outside
}

func callsText(calls map[string]int64, prec tabular.Precision) string {
	var list []libraryCall
	for library, v := range calls {
		if float64(v)*minCall >= prec.Total {
			list = append(list, libraryCall{library, v})
		}
	}
	slices.SortFunc(list, func(a, b libraryCall) int {
		return cmp.Or(cmp.Compare(b.value, a.value), strings.Compare(a.library, b.library))
	})
	var parts []string
	for _, l := range list[:min(len(list), maxCalls)] {
		parts = append(parts, printable.String(l.library)+" ("+prec.Share(l.value)+")")
	}
	if len(parts) == 0 {
		return ""
	}
	return "…in " + strings.Join(parts, ", ")
}
