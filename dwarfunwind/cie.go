// SPDX-License-Identifier: Apache-2.0

package dwarfunwind

import (
	"prywalk/frames"
	"prywalk/internal/base/cache"
	"prywalk/internal/base/wire"
)

// Programs have tens.
const maxCIEs = 256

// cie is a decoded common information entry (DWARF 5 §6.4.1).
type cie struct {
	usable    bool
	signal    bool  // augmentation S
	augmented bool  // FDEs have extra data, with their length (augmentation z)
	fdeEnc    uint8 // of the FDEs' addresses
	codeAlign uint64
	dataAlign int64
	ra        uint64 // column of the return address
	arch      *archRules
	init      frames.Row // after the initial instructions
}

// cieAt returns the CIE at off in the section; nil if it is unusable.
func (t *Table) cieAt(s *frameSection, off uint64) *cie {
	c := s.cies[off]
	if c == nil {
		c = t.decodeCIE(s, off)
		cache.Put(&s.cies, maxCIEs, off, c)
	}
	if !c.usable {
		return nil
	}
	return c
}

func (t *Table) decodeCIE(s *frameSection, off uint64) *cie {
	c := &cie{arch: t.archRules, init: frames.Row{CFAReg: frames.NoReg}}
	e := s.entryAt(off)
	if e.kind != kindCIE || len(e.data) > maxCIE {
		return c
	}
	cur := &cursor{wire.Cursor{Bytes: e.data, Pos: e.body}}
	if !c.parseHeader(cur, s, off) {
		return c
	}
	t.machine.reset(c)
	if !t.machine.run(c, cur, s, off, 0, ^uint64(0)) {
		return c
	}
	c.init, c.usable = t.machine.row, true
	return c
}

// parseHeader reads the header (DWARF 5 §6.4.1); false if it is invalid or unknown.
func (c *cie) parseHeader(cur *cursor, s *frameSection, off uint64) bool {
	version := cur.U8()
	aug := cur.CString()
	if version != 1 && (version < 3 || version > 5) {
		return false
	}
	addrSize, segSize := uint8(addressSize), uint8(0)
	if string(aug) == "eh" {
		cur.Take(8) // a pointer that GCC 2 wrote
		aug = nil
	}
	if version >= 4 {
		addrSize, segSize = cur.U8(), cur.U8()
	}
	c.codeAlign, c.dataAlign = cur.ULEB(), cur.SLEB()
	if version == 1 {
		c.ra = uint64(cur.U8())
	} else {
		c.ra = cur.ULEB()
	}
	if cur.Bad || addrSize != addressSize || segSize != 0 {
		return false
	}
	return c.parseAugmentation(cur, aug, s, off)
}

// parseAugmentation reads the augmentation (LSB 5.0 §10.6.1.1.1); false if it is invalid or unknown. With z the data
// have a length, so an unknown letter ends decoding.
func (c *cie) parseAugmentation(cur *cursor, aug []byte, s *frameSection, off uint64) bool {
	if len(aug) == 0 {
		return true
	}
	if aug[0] != 'z' {
		return false
	}
	c.augmented = true
	data := cur.Block()
	end := cur.Pos
	dataCur := &cursor{wire.Cursor{Bytes: cur.Bytes[:end], Pos: end - len(data)}}
	for _, letter := range aug[1:] {
		switch letter {
		case 'R':
			c.fdeEnc = dataCur.U8()
		case 'P':
			dataCur.skipPointer(dataCur.U8(), s.section.Addr+off)
		case 'L':
			dataCur.U8()
		case 'S':
			c.signal = true
		case 'B', 'G': // arm64: pointers are signed with key B; the stack is tagged
		default:
			return !cur.Bad && !dataCur.Bad
		}
	}
	return !cur.Bad && !dataCur.Bad
}

// initialRule is the rule that DW_CFA_restore sets (DWARF 5 §6.4.2.3).
func (c *cie) initialRule(reg uint64) (r frames.RegRule) {
	if p := c.place(&c.init, reg); p != nil {
		r = *p
	}
	return r
}

// place returns a column's rule in a row; nil if it is ignored. Row.RA is of a column that is no register.
func (c *cie) place(row *frames.Row, reg uint64) *frames.RegRule {
	switch {
	case reg < c.arch.columns:
		return &row.Regs[reg]
	case reg == c.ra:
		return &row.RA
	}
	return nil
}
