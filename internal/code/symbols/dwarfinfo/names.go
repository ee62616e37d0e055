// SPDX-License-Identifier: Apache-2.0

package dwarfinfo

import (
	"debug/dwarf"
	"sort"
)

const maxHops = 16

// resolve follows DW_AT_abstract_origin and DW_AT_specification (DWARF 5 §2.13.2, §3.3.8.1).
func (d *Data) resolve(off uint64) *Func {
	if f := d.names[off]; f != nil {
		return f
	}
	var r nameReader
	r.follow(d, off)
	f := &Func{Line: r.line}
	d.names[off] = f
	if n := len(r.name) + len(r.linkage); !d.spendSteps(1+n/16) || !d.takeMemory(funcCost+n) {
		return f
	}
	f.Name, f.Linkage = string(r.name), string(r.linkage)
	if r.linkage == nil && r.unit != nil {
		f.Name = r.unit.qualify(f.Name, r.die)
	}
	return f
}

type nameReader struct {
	name, linkage []byte
	line          int
	unit          *unit
	die           uint64 // of the name
}

func (r *nameReader) follow(d *Data, off uint64) {
	for range maxHops {
		u := d.unitAt(off)
		if u == nil {
			return
		}
		next := r.read(u, off)
		switch {
		case next.kind == kindRef:
			off = next.u
		case next.kind == kindAltRef && d.alt != nil:
			d, off = d.alt, next.u
		default:
			return
		}
	}
}

func (r *nameReader) read(u *unit, off uint64) (next value) {
	c := u.cursorAt(off)
	a := u.abbrevsOf()[c.ULEB()]
	if a == nil {
		return next
	}
	e := u.readEntry(&c, a)
	if v := u.stringOf(e.name); v != nil {
		r.name = firstNonNil(r.name, v)
		r.unit, r.die = u, off
	}
	r.linkage = firstNonNil(r.linkage, u.stringOf(e.linkage))
	if r.line == 0 && e.declLine.u < 1<<31 {
		r.line = int(e.declLine.u)
	}
	return e.origin
}

func firstNonNil(a, b []byte) []byte {
	if a != nil {
		return a
	}
	return b
}

// nameScope is a namespace, class or other type whose name qualifies those of the entries in it.
type nameScope struct {
	off, end uint64
	parent   int32
	name     []byte
}

const maxName = 4096 // bytes

// qualify prefixes the names of the scopes around an entry, as a linkage name has them.
func (u *unit) qualify(name string, die uint64) string {
	scopes := u.funcsOf().names
	i := sort.Search(len(scopes), func(i int) bool { return scopes[i].off >= die })
	for id := int32(i) - 1; id >= 0 && len(name) <= maxName; id = scopes[id].parent {
		if s := &scopes[id]; die < s.end && s.name != nil {
			name = string(s.name) + "::" + name
		}
	}
	return name
}

// addName returns the nameScope of an entry's children.
func (r *funcReader) addName(name value, tag dwarf.Tag, die uint64, parent int32) int32 {
	s := nameScope{off: die, end: r.unit.end, parent: parent, name: r.unit.stringOf(name)}
	if s.name == nil && tag == dwarf.TagNamespace {
		s.name = []byte("(anonymous namespace)")
	}
	if !r.unit.d.takeMemory(scopeCost) {
		return parent
	}
	r.unit.funcs.names = append(r.unit.funcs.names, s)
	return int32(len(r.unit.funcs.names)) - 1
}
