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
	parent   int32 // −1 means a subprogram
	depth    int32
	root     int32 // the subprogram
	callFile uint32
	callLine uint32
}

// segment: from addr on, scope is the innermost call, or -1.
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
	unit  *unit
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

// openEntry is the innermost kept parents of an entry's children.
type openEntry struct{ scope, name int32 }

func (r *funcReader) readEntries() {
	table := r.unit.abbrevsOf()
	c := r.unit.cursorAt(r.unit.dies)
	open := []openEntry{{-1, -1}} // the unit's, and of each open entry
	for !c.Done() && r.unit.d.spendSteps(1) && len(open) <= maxNesting {
		die := r.unit.off + uint64(c.Pos)
		last := len(open) - 1
		if code := c.ULEB(); code != 0 {
			a := table[code]
			if a == nil {
				return
			}
			if inside := r.visit(&c, a, die, open[last]); a.children {
				open = append(open, inside)
				continue
			}
		} else {
			if n := open[last].name; n >= 0 && open[last-1].name != n {
				r.unit.funcs.names[n].end = die
			}
			open = open[:last]
		}
		if len(open) <= 1 {
			return
		}
	}
}

func (r *funcReader) visit(c *wire.Cursor, a *abbrev, die uint64, in openEntry) openEntry {
	switch a.tag {
	case dwarf.TagSubprogram:
		in.scope = r.readScope(c, a, die, -1)
	case dwarf.TagInlinedSubroutine:
		if in.scope >= 0 && r.unit.funcs.scopes[in.scope].depth < maxInline {
			in.scope = r.readScope(c, a, die, in.scope)
			return in
		}
		r.unit.skipEntry(c, a)
	case dwarf.TagNamespace, dwarf.TagModule, dwarf.TagClassType, dwarf.TagStructType, dwarf.TagUnionType,
		dwarf.TagEnumerationType:
		e := r.unit.readEntry(c, a)
		if a.children {
			in.name = r.addName(e.name, a.tag, die, in.name)
		}
	default:
		r.unit.skipEntry(c, a)
	}
	return in
}

func (u *unit) skipEntry(c *wire.Cursor, a *abbrev) {
	for i := range a.specs {
		u.read(c, &a.specs[i])
	}
}

func (r *funcReader) readScope(c *wire.Cursor, a *abbrev, die uint64, parent int32) int32 {
	e := r.unit.readEntry(c, a)
	s := scope{die: die, parent: parent, callFile: uint32(e.callFile.u), callLine: uint32(e.callLine.u)}
	first := len(r.spans)
	r.spans = r.unit.appendSpans(&e, r.spans)
	if len(r.spans) == first || !r.unit.d.takeMemory(scopeCost) {
		r.spans = r.spans[:first]
		return parent
	}
	id := int32(len(r.unit.funcs.scopes))
	s.root = id
	if parent >= 0 {
		s.root, s.depth = r.unit.funcs.scopes[parent].root, r.unit.funcs.scopes[parent].depth+1
	}
	r.unit.funcs.scopes = append(r.unit.funcs.scopes, s)
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
