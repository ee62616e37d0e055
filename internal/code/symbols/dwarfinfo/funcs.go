// SPDX-License-Identifier: Apache-2.0

package dwarfinfo

import (
	"cmp"
	"debug/dwarf"
	"slices"
	"sort"

	"prywalk/internal/base/wire"
)

type scope struct {
	die      uint64
	fn       *Func
	parent   int32 // −1: a subprogram
	depth    int32
	root     int32 // the subprogram
	callFile uint32
	callLine uint32
}

// segment: from addr on, scope is the innermost call; -1: none.
type segment struct {
	addr  uint64
	scope int32
}

type funcTable struct {
	scopes   []scope
	segments []segment
	names    []nameScope // by offset
}

const (
	maxNesting = 4096 // depth of entries in a unit
	maxInline  = 256  // depth of inlined calls
)

func (t *funcTable) find(addr uint64) int32 {
	i := sort.Search(len(t.segments), func(i int) bool { return t.segments[i].addr > addr })
	if i == 0 {
		return -1
	}
	return t.segments[i-1].scope
}

type funcReader struct {
	*unit
	spans []span
}

func (u *unit) funcsOf() *funcTable {
	if u.funcs == nil {
		u.funcs = new(funcTable)
		r := funcReader{unit: u}
		r.readEntries()
		u.funcs.segments = flatten(r.spans, u.funcs.scopes)
	}
	return u.funcs
}

func (r *funcReader) readEntries() {
	table := r.abbrevsOf()
	c := r.cursorAt(r.dies)
	open := []int32{-1}  // scopes of the children of the unit and of each open entry
	names := []int32{-1} // their innermost namespaces and types
	for !c.Done() && r.d.spendSteps(1) && len(open) <= maxNesting {
		die := r.off + uint64(c.Pos)
		if code := c.ULEB(); code != 0 {
			a := table[code]
			if a == nil {
				return
			}
			name := names[len(names)-1]
			if a.children {
				name = r.addName(c, a, die, name)
			}
			if inside := r.visit(&c, a, die, open[len(open)-1]); a.children {
				open, names = append(open, inside), append(names, name)
				continue
			}
		} else {
			last := len(open) - 1
			if n := names[last]; n >= 0 && names[last-1] != n {
				r.funcs.names[n].end = die
			}
			open, names = open[:last], names[:last]
		}
		if len(open) <= 1 {
			return
		}
	}
}

func (r *funcReader) visit(c *wire.Cursor, a *abbrev, die uint64, parent int32) int32 {
	switch a.tag {
	case dwarf.TagSubprogram:
		return r.readScope(c, a, die, -1)
	case dwarf.TagInlinedSubroutine:
		if parent >= 0 && r.funcs.scopes[parent].depth < maxInline {
			return r.readScope(c, a, die, parent)
		}
	}
	r.skipEntry(c, a)
	return parent
}

func (u *unit) skipEntry(c *wire.Cursor, a *abbrev) {
	for _, s := range a.specs {
		u.skipForm(c, s.form)
	}
}

func (r *funcReader) readScope(c *wire.Cursor, a *abbrev, die uint64, parent int32) int32 {
	s := scope{die: die, parent: parent}
	var low, high, ranges value
	for _, sp := range a.specs {
		switch sp.attr {
		case dwarf.AttrLowpc:
			low = r.readForm(c, sp)
		case dwarf.AttrHighpc:
			high = r.readForm(c, sp)
		case dwarf.AttrRanges:
			ranges = r.readForm(c, sp)
		case dwarf.AttrCallFile:
			s.callFile = uint32(r.readForm(c, sp).u)
		case dwarf.AttrCallLine:
			s.callLine = uint32(r.readForm(c, sp).u)
		default:
			r.skipForm(c, sp.form)
		}
	}
	first := len(r.spans)
	r.spans = r.appendSpans(low, high, ranges, r.spans)
	if len(r.spans) == first || !r.d.takeMemory(scopeCost) {
		r.spans = r.spans[:first]
		return parent
	}
	id := int32(len(r.funcs.scopes))
	s.root = id
	if parent >= 0 {
		s.root, s.depth = r.funcs.scopes[parent].root, r.funcs.scopes[parent].depth+1
	}
	r.funcs.scopes = append(r.funcs.scopes, s)
	for i := range r.spans[first:] {
		r.spans[first+i].scope, r.spans[first+i].depth = id, s.depth
	}
	return id
}

type flattener struct {
	open []span
	out  []segment
}

// flatten returns the innermost scope by address. Of overlapping subprograms (identical code folding) the first counts;
// a call is cut at its parent's bounds.
func flatten(spans []span, scopes []scope) []segment {
	slices.SortStableFunc(spans, func(a, b span) int {
		return cmp.Or(cmp.Compare(a.lo, b.lo), cmp.Compare(a.depth, b.depth))
	})
	var f flattener
	for _, s := range spans {
		f.closeUpTo(s.lo)
		if n := len(f.open); n > 0 {
			top := &f.open[n-1]
			if scopes[top.scope].root != scopes[s.scope].root || s.depth <= top.depth {
				continue
			}
			s.hi = min(s.hi, top.hi)
		} else if s.depth > 0 {
			continue
		}
		f.open = append(f.open, s)
		f.emit(s.lo, s.scope)
	}
	f.closeUpTo(^uint64(0))
	return slices.Clip(f.out)
}

func (f *flattener) closeUpTo(addr uint64) {
	for n := len(f.open); n > 0 && f.open[n-1].hi <= addr; n-- {
		hi := f.open[n-1].hi
		f.open = f.open[:n-1]
		below := int32(-1)
		if n > 1 {
			below = f.open[n-2].scope
		}
		f.emit(hi, below)
	}
}

func (f *flattener) emit(addr uint64, scope int32) {
	if n := len(f.out); n > 0 && f.out[n-1].addr == addr {
		f.out[n-1].scope = scope
		return
	}
	f.out = append(f.out, segment{addr, scope})
}
