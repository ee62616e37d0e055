// SPDX-License-Identifier: Apache-2.0

package dwarfinfo

import (
	"debug/dwarf"
	"slices"

	"prywalk/internal/base/wire"
)

type spec struct {
	attr     dwarf.Attr
	form     form
	implicit int64 // of DW_FORM_implicit_const
}

// abbrev is an abbreviation declaration (DWARF 5 §7.5.3).
type abbrev struct {
	code     uint64
	tag      dwarf.Tag
	children bool
	specs    []spec
}

type abbrevTable map[uint64]*abbrev // by code

// readAbbrev returns false at the table's end. The specs are valid until the next call.
func (d *Data) readAbbrev(c *wire.Cursor) (abbrev, bool) {
	a := abbrev{code: c.ULEB(), specs: d.specs[:0]}
	if a.code == 0 || c.Bad {
		return a, false
	}
	a.tag = dwarf.Tag(c.ULEB())
	a.children = c.U8() != 0
	for d.spendSteps(1) {
		attr, code := c.ULEB(), c.ULEB()
		s := spec{attr: dwarf.Attr(min(attr, 0xffff)), form: formOf(code)}
		if s.form.layout == layoutImplicit {
			s.implicit = c.SLEB()
		}
		if c.Bad || attr == 0 && code == 0 {
			break
		}
		a.specs = append(a.specs, s)
	}
	d.specs = a.specs
	return a, !c.Bad
}

func (u *unit) abbrevsOf() abbrevTable {
	t := u.d.abbrevs[u.abbrevOff]
	if t == nil {
		t = abbrevTable{}
		c := wire.At(u.d.s.Abbrev, u.abbrevOff)
		for {
			a, ok := u.d.readAbbrev(&c)
			if !ok || !u.d.takeMemory(abbrevCost+specCost*len(a.specs)) {
				break
			}
			a.specs = slices.Clone(a.specs)
			t[a.code] = &a
		}
		u.d.abbrevs[u.abbrevOff] = t
	}
	return t
}

func (u *unit) rootAbbrev(code uint64) *abbrev {
	c := wire.At(u.d.s.Abbrev, u.abbrevOff)
	for {
		a, ok := u.d.readAbbrev(&c)
		if !ok {
			return nil
		}
		if a.code == code {
			return &a
		}
	}
}
