// SPDX-License-Identifier: Apache-2.0

package top

import (
	"cmp"
	"regexp"
	"slices"

	"prywalk/internal/base/incomplete"
)

// Scope selects cells of a snapshot.
type Scope struct {
	// Thread is a thread's id, Wait a wait's index; negative: all.
	Thread, Wait int32
}

var wholeProgram = Scope{-1, -1}

func (snap *Snapshot) contains(s Scope, c *Cell) bool {
	return (s.Thread < 0 || c.thread == s.Thread) && (s.Wait < 0 || c.wait == s.Wait)
}

// FunctionRow is a function with its time, alone and with callees.
type FunctionRow struct {
	Frame
	Self, Total Values
	id          int32
	depth       float64 // wall time × distance from the innermost frame
}

// functions sums by function. In Total a function counts once per stack.
func (snap *Snapshot) functions(scope Scope) []FunctionRow {
	var rows []FunctionRow
	at, seen := map[int32]int{}, map[int32]*Cell{} // row; last cell
	for i := range snap.Cells {
		c := &snap.Cells[i]
		if !snap.contains(scope, c) {
			continue
		}
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

// Order is a sort order of functions.
type Order string

// Values of [Order].
const (
	BySelf  Order = "self"
	ByTotal Order = "total"
	ByName  Order = "name"
)

// sortFunctions sorts times descending, names ascending. Of equal rows the program's functions precede those of
// language and system, and inner functions outer ones.
func sortFunctions(rows []FunctionRow, c Clock, by Order) {
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
		name := cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Module, b.Module))
		rest := cmp.Or(cmp.Compare(support(&a), support(&b)), cmp.Compare(far(&a), far(&b)), name)
		switch by {
		case ByTotal:
			return cmp.Or(total, self, rest)
		case ByName:
			return cmp.Or(name, self)
		default:
			return cmp.Or(self, total, rest)
		}
	})
	if by == BySelf {
		incomplete.Raise(rows, func(r *FunctionRow) (string, int64, int64) {
			return r.Name, r.Self.of(c), r.Total.of(c)
		})
	}
}

type stackRow struct {
	Values  Values
	Threads int
	Frames  []int32
}

// stacksOf returns the stacks with a function, the largest first.
func (snap *Snapshot) stacksOf(scope Scope, function int32, clock Clock) []stackRow {
	var rows []stackRow
	indexes := map[string]int{}
	members := []map[int32]bool{}
	var key []byte
	for i := range snap.Cells {
		c := &snap.Cells[i]
		if !snap.contains(scope, c) || !slices.Contains(c.stack, function) {
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

// total sums a scope.
func (snap *Snapshot) total(scope Scope) (v Values) {
	for i := range snap.Cells {
		if c := &snap.Cells[i]; snap.contains(scope, c) {
			v.add(c.v)
		}
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
