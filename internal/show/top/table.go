// SPDX-License-Identifier: Apache-2.0

package top

import (
	"cmp"
	"regexp"
	"slices"

	"prywalk/internal/base/incomplete"
	"prywalk/internal/base/tabular"
)

// FunctionRow is a function with its time, alone and with callees.
type FunctionRow struct {
	Frame
	Self, Total Values
	id          int32
	calls       string  // of a program's own function: the library that it called for longest, or ""
	depth       float64 // wall time × distance from the innermost frame
}

// functions sums by function. In Total a function counts once per stack.
func (snap *Snapshot) functions() []FunctionRow {
	var rows []FunctionRow
	at, seen := map[int32]int{}, map[int32]*Cell{} // row; last cell
	for i := range snap.Cells {
		c := &snap.Cells[i]
		for depth, f := range c.stack {
			n, ok := at[f]
			if !ok {
				n = len(rows)
				rows = append(rows, FunctionRow{Frame: snap.frames[f], id: f})
				at[f] = n
			}
			r := &rows[n]
			if depth == 0 {
				r.Self.add(c.v)
			}
			if seen[f] != c {
				seen[f] = c
				r.Total.add(c.v)
				r.depth += float64(c.v.Wall) * float64(depth)
			}
		}
	}
	return rows
}

// functionTable returns the functions with time: own ones, unless all are asked for or the program has none, else all.
func (snap *Snapshot) functionTable(c Clock, prec tabular.Precision, all bool) (rows []FunctionRow, own bool) {
	rows = withTime(snap.functions(), c)
	if !all {
		if own := snap.application(rows, c, prec); len(own) > 0 {
			return own, true
		}
	}
	sortFunctions(rows, c)
	return rows, false
}

// sortFunctions sorts by time, descending. Of equal rows the program's functions precede those of language and system,
// and inner functions outer ones.
func sortFunctions(rows []FunctionRow, c Clock) {
	support := func(r *FunctionRow) int {
		if r.IsSupport() {
			return 1
		}
		return 0
	}
	far := func(r *FunctionRow) float64 { return r.depth / max(1, float64(r.Total.Wall)) }
	slices.SortFunc(rows, func(a, b FunctionRow) int {
		self := cmp.Compare(b.Self.of(c), a.Self.of(c))
		total := cmp.Compare(b.Total.of(c), a.Total.of(c))
		return cmp.Or(self, total, cmp.Compare(support(&a), support(&b)), cmp.Compare(far(&a), far(&b)),
			cmp.Compare(a.Name, b.Name), cmp.Compare(a.Module, b.Module))
	})
	incomplete.Raise(rows, func(r *FunctionRow) (string, int64, int64) { return r.Name, r.Self.of(c), r.Total.of(c) })
}

type stackRow struct {
	Values  Values
	Threads int
	Frames  []int32
}

// stacksOf returns the stacks of cells, the largest first.
func (snap *Snapshot) stacksOf(has func(*Cell) bool, clock Clock) []stackRow {
	var rows []stackRow
	indexes := map[string]int{}
	members := []map[int32]bool{}
	var key []byte
	for i := range snap.Cells {
		c := &snap.Cells[i]
		if !has(c) {
			continue
		}
		key = key[:0]
		for _, f := range c.stack {
			key = append(key, byte(f), byte(f>>8), byte(f>>16), byte(f>>24))
		}
		n, ok := indexes[string(key)]
		if !ok {
			n = len(rows)
			indexes[string(key)] = n
			rows = append(rows, stackRow{Frames: c.stack})
			members = append(members, map[int32]bool{})
		}
		rows[n].Values.add(c.v)
		members[n][c.thread] = true
	}
	for i := range rows {
		rows[i].Threads = len(members[i])
	}
	slices.SortStableFunc(rows, func(a, b stackRow) int {
		return cmp.Or(cmp.Compare(b.Values.of(clock), a.Values.of(clock)), cmp.Compare(b.Values.Wall, a.Values.Wall))
	})
	return rows
}

func (snap *Snapshot) total() (v Values) {
	for i := range snap.Cells {
		v.add(snap.Cells[i].v)
	}
	return v
}

func withTime(rows []FunctionRow, c Clock) []FunctionRow {
	return slices.DeleteFunc(rows, func(r FunctionRow) bool { return r.Total.of(c) <= 0 })
}

func matching[R any](rows []R, re *regexp.Regexp, text func(*R) string) []R {
	if re == nil {
		return rows
	}
	return slices.DeleteFunc(rows, func(r R) bool { return !re.MatchString(text(&r)) })
}
