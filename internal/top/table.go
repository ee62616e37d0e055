package top

import (
	"cmp"
	"regexp"
	"slices"

	"prywalk/internal/namehints"
	"prywalk/internal/printable"
)

// Scope chooses cells of a snapshot.
type Scope struct {
	// Thread and Wait choose those of one thread, or of one wait; below 0: all.
	Thread, Wait int32
}

// Everything is the scope of all cells.
var Everything = Scope{-1, -1}

func (s Scope) has(c *Cell) bool {
	return (s.Thread < 0 || c.thread == s.Thread) && (s.Wait < 0 || c.wait == s.Wait)
}

// FunctionRow is one function's own values, and those with all that it called.
type FunctionRow struct {
	Frame
	Self, Total Values
	id          int32
	depth       float64 // how far in it stands, values times frames
}

// Functions adds up a snapshot by function. A function counts once for each stack in Total.
func (o *Snapshot) Functions(scope Scope) []FunctionRow {
	rows := make([]FunctionRow, 0, 64)
	at := make([]int32, len(o.frames)) // a function's row, plus one
	seen := make([]int32, len(o.frames))
	for i := range o.Cells {
		c := &o.Cells[i]
		if !scope.has(c) {
			continue
		}
		for depth, f := range c.stack {
			n := at[f]
			if n == 0 {
				rows = append(rows, FunctionRow{Frame: o.frames[f], id: f})
				n = int32(len(rows))
				at[f] = n
			}
			r := &rows[n-1]
			if depth == 0 {
				r.Self.add(c.v)
			}
			if seen[f] != int32(i+1) {
				seen[f] = int32(i + 1)
				r.Total.add(c.v)
				r.depth += float64(c.v.Wall) * float64(depth)
			}
		}
	}
	return rows
}

// Order is what a table is sorted by.
type Order string

// The orders.
const (
	BySelf  Order = "self"
	ByTotal Order = "total"
	ByName  Order = "name"
)

// SortFunctions puts the most expensive first, by a clock. Of equal ones a program's own come before those of the
// language and the system, and the inner before the outer.
func SortFunctions(rows []FunctionRow, c Clock, by Order) {
	support := func(r *FunctionRow) int {
		if r.synthetic() || namehints.Support(r.Name, r.Module) {
			return 1
		}
		return 0
	}
	far := func(r *FunctionRow) float64 { return r.depth / max(1, float64(r.Total.Wall)) }
	slices.SortFunc(rows, func(a, b FunctionRow) int {
		self := cmp.Compare(b.Self.Of(c), a.Self.Of(c))
		total := cmp.Compare(b.Total.Of(c), a.Total.Of(c))
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
}

// GroupRow is one thread, or one wait.
type GroupRow struct {
	Name string
	V    Values
	// Threads is how many have a part in it.
	Threads int
	// Where is the function of the program in which most of its time was.
	Where string
	id    int32
}

// Threads adds up a snapshot by thread.
func (o *Snapshot) Threads(scope Scope, c Clock) []GroupRow {
	return o.groups(scope, c, len(o.threads), func(c *Cell) int32 { return c.thread }, o.threadName)
}

// Waits adds up a snapshot by what threads wait in.
func (o *Snapshot) Waits(scope Scope, c Clock) []GroupRow {
	return o.groups(scope, c, len(o.waits), func(c *Cell) int32 { return c.wait }, func(n int32) string { return printable.String(o.waits[n]) })
}

// groups adds up by what key gives, and finds for each group where most of its time is.
func (o *Snapshot) groups(scope Scope, clock Clock, n int, key func(*Cell) int32, name func(int32) string) []GroupRow {
	sums := make([]GroupRow, n)
	members := make([]map[int32]bool, n)
	where := make([]map[int32]int64, n)
	for i := range o.Cells {
		c := &o.Cells[i]
		if !scope.has(c) {
			continue
		}
		k := key(c)
		sums[k].V.add(c.v)
		if members[k] == nil {
			members[k], where[k] = map[int32]bool{}, map[int32]int64{}
		}
		members[k][c.thread] = true
		if len(c.stack) > 0 {
			v := c.v.Of(clock)
			if v == 0 {
				v = c.v.Wall / 1e3 // of little weight: better than nothing
			}
			where[k][o.own(c.stack)] += v
		}
	}
	rows := make([]GroupRow, 0, n)
	for k := range sums {
		if sums[k].V == (Values{}) {
			continue
		}
		r := sums[k]
		r.id, r.Name, r.Threads = int32(k), name(int32(k)), len(members[k])
		r.Where = o.heaviest(where[k])
		rows = append(rows, r)
	}
	slices.SortFunc(rows, func(a, b GroupRow) int {
		return cmp.Or(cmp.Compare(b.V.Of(clock), a.V.Of(clock)), cmp.Compare(b.V.Wall, a.V.Wall), cmp.Compare(a.Name, b.Name))
	})
	return rows
}

// own is the innermost function of a stack that the program's author has written, else the innermost.
func (o *Snapshot) own(stack []int32) int32 {
	for _, f := range stack {
		if fr := &o.frames[f]; !fr.synthetic() && !fr.Nameless && !namehints.Support(fr.Name, fr.Module) {
			return f
		}
	}
	return stack[0]
}

func (o *Snapshot) heaviest(by map[int32]int64) string {
	best, most := int32(-1), int64(-1)
	for f, v := range by {
		if v > most || v == most && o.frames[f].Name < o.frames[best].Name {
			best, most = f, v
		}
	}
	if best < 0 {
		return ""
	}
	return o.frames[best].shown()
}

// StackRow is one stack that a function is on.
type StackRow struct {
	V       Values
	Threads int
	Frames  []int32 // innermost first
}

// StacksOf gives the stacks of a scope that a function is on, all if it is below 0, the most expensive first.
func (o *Snapshot) StacksOf(scope Scope, function int32, clock Clock) []StackRow {
	var rows []StackRow
	at := map[string]int{}
	members := []map[int32]bool{}
	var key []byte
	for i := range o.Cells {
		c := &o.Cells[i]
		if !scope.has(c) || function >= 0 && !slices.Contains(c.stack, function) {
			continue
		}
		key = key[:0]
		for _, f := range c.stack {
			key = append(key, byte(f), byte(f>>8), byte(f>>16), byte(f>>24))
		}
		n, ok := at[string(key)]
		if !ok {
			n = len(rows)
			at[string(key)] = n
			rows = append(rows, StackRow{Frames: c.stack})
			members = append(members, map[int32]bool{})
		}
		rows[n].V.add(c.v)
		members[n][c.thread] = true
	}
	for i := range rows {
		rows[i].Threads = len(members[i])
	}
	slices.SortStableFunc(rows, func(a, b StackRow) int {
		return cmp.Or(cmp.Compare(b.V.Of(clock), a.V.Of(clock)), cmp.Compare(b.V.Wall, a.V.Wall))
	})
	return rows
}

// Total adds up a scope.
func (o *Snapshot) Total(scope Scope) (v Values) {
	for i := range o.Cells {
		if c := &o.Cells[i]; scope.has(c) {
			v.add(c.v)
		}
	}
	return v
}

// matching keeps the rows whose names match.
func matching[R any](rows []R, re *regexp.Regexp, text func(*R) string) []R {
	if re == nil {
		return rows
	}
	return slices.DeleteFunc(rows, func(r R) bool { return !re.MatchString(text(&r)) })
}
