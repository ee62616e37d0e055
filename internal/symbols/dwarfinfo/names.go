// SPDX-License-Identifier: Apache-2.0

package dwarfinfo

import (
	"sort"

	"prywalk/internal/wire"
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
	if r.linkage == nil && r.unit != nil && !isC(r.unit.lang) {
		f.Name = r.unit.qualify(f.Name, r.die)
	}
	return f
}

type nameReader struct {
	name, linkage []byte
	line          int
	unit          *unit
	die           uint64 // its entry
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
	a := u.abbrevsOf().find(c.ULEB())
	if a == nil {
		return next
	}
	for _, s := range a.specs {
		switch s.attr {
		case attrName:
			if v := u.stringOf(u.readForm(&c, s)); v != nil {
				r.name = firstNonNil(r.name, v)
				r.unit, r.die = u, off
			}
		case attrLinkageName, attrMIPSLinkage:
			r.linkage = firstNonNil(r.linkage, u.stringOf(u.readForm(&c, s)))
		case attrDeclLine:
			if v := u.readForm(&c, s); r.line == 0 && v.u < 1<<31 {
				r.line = int(v.u)
			}
		case attrAbstractOrigin, attrSpecification:
			next = u.readForm(&c, s)
		default:
			u.skipForm(&c, s.form)
		}
	}
	return next
}

func firstNonNil(a, b []byte) []byte {
	if a != nil {
		return a
	}
	return b
}

type nameScope struct {
	off, end uint64
	parent   int32
	name     []byte
}

func (u *unit) qualify(name string, die uint64) string {
	if u.scopes == nil {
		u.readScopes()
	}
	i := sort.Search(len(u.scopes), func(i int) bool { return u.scopes[i].off >= die })
	for id := int32(i) - 1; id >= 0; id = u.scopes[id].parent {
		s := &u.scopes[id]
		if die >= s.end || s.name == nil {
			continue
		}
		name = string(s.name) + "::" + name
		if len(name) > maxName {
			break
		}
	}
	return name
}

const maxName = 4096 // bytes

func (u *unit) readScopes() {
	u.scopes = []nameScope{}
	u.eachEntry(func(c *wire.Cursor, a *abbrev, die uint64, parent int32) int32 {
		if !a.children || !qualifies(a.tag) {
			u.skipEntry(c, a)
			return parent
		}
		if u.d.takeMemory(scopeCost) { // else reading ends
			u.scopes = append(u.scopes, nameScope{off: die, end: u.end, parent: parent, name: u.scopeName(c, a)})
		}
		return int32(len(u.scopes)) - 1
	}, func(scope int32, end uint64) { u.scopes[scope].end = end })
}

func qualifies(tag uint32) bool {
	switch tag {
	case tagNamespace, tagModule, tagClassType, tagStructureType, tagUnionType, tagEnumerationType:
		return true
	}
	return false
}

func (u *unit) scopeName(c *wire.Cursor, a *abbrev) (name []byte) {
	for _, s := range a.specs {
		if s.attr == attrName {
			name = u.stringOf(u.readForm(c, s))
		} else {
			u.skipForm(c, s.form)
		}
	}
	if name == nil && a.tag == tagNamespace {
		name = []byte("(anonymous namespace)")
	}
	return name
}
