// SPDX-License-Identifier: Apache-2.0

package dwarfinfo

import (
	"debug/dwarf"

	"prywalk/internal/base/wire"
)

// Vendors' attributes; debug/dwarf has the others, and the tags.
const (
	attrMIPSLinkage dwarf.Attr = 0x2007
	attrGNUAddrBase dwarf.Attr = 0x2133
)

type kind uint8

const (
	kindNone     kind = iota
	kindConst         // u
	kindAddr          // u
	kindAddrx         // u: index into .debug_addr
	kindInline        // b: the string itself
	kindStrp          // u: offset in .debug_str
	kindLineStrp      // u: offset in .debug_line_str
	kindStrx          // u: index into .debug_str_offsets
	kindAltStrp       // u: offset in the supplementary file's .debug_str
	kindUnitRef       // only of a form: offset in the unit, which is read as kindRef
	kindRef           // u: offset in .debug_info
	kindAltRef        // u: offset in the supplementary file's .debug_info
	kindOffset        // u: offset in another section
	kindRnglistx      // u: index into .debug_rnglists
)

type value struct {
	u    uint64
	b    []byte
	kind kind
}

// or returns the number, other if there is none.
func (v *value) or(other uint64) uint64 {
	if v.kind == kindNone {
		return other
	}
	return v.u
}

// layout is how a value is stored: up to 16, in so many bytes.
type layout uint8

const (
	layoutUnknown  layout = 0
	layoutEmpty    layout = 16 + iota
	layoutImplicit        // in the abbreviation
	layoutAddr
	layoutOffset
	layoutRefAddr
	layoutULEB
	layoutSLEB
	layoutString
	layoutBlock
	layoutBlock1
	layoutBlock2
	layoutBlock4
	layoutIndirect
)

type form struct {
	layout layout
	kind   kind
}

// forms is DWARF 5 §7.5.6, table 7.6.
var forms = [...]form{
	0x01: {layoutAddr, kindAddr}, 0x03: {layoutBlock2, 0}, 0x04: {layoutBlock4, 0}, 0x05: {2, kindConst},
	0x06: {4, kindConst}, 0x07: {8, kindConst}, 0x08: {layoutString, kindInline}, 0x09: {layoutBlock, 0},
	0x0a: {layoutBlock1, 0}, 0x0b: {1, kindConst}, 0x0c: {1, 0}, 0x0d: {layoutSLEB, kindConst},
	0x0e: {layoutOffset, kindStrp}, 0x0f: {layoutULEB, kindConst}, 0x10: {layoutRefAddr, kindRef},
	0x11: {1, kindUnitRef}, 0x12: {2, kindUnitRef}, 0x13: {4, kindUnitRef}, 0x14: {8, kindUnitRef},
	0x15: {layoutULEB, kindUnitRef}, 0x16: {layoutIndirect, 0}, 0x17: {layoutOffset, kindOffset},
	0x18: {layoutBlock, 0}, 0x19: {layoutEmpty, 0}, 0x1a: {layoutULEB, kindStrx}, 0x1b: {layoutULEB, kindAddrx},
	0x1c: {4, kindAltRef}, 0x1d: {layoutOffset, kindAltStrp}, 0x1e: {16, 0}, 0x1f: {layoutOffset, kindLineStrp},
	0x20: {8, 0}, 0x21: {layoutImplicit, kindConst}, 0x22: {layoutULEB, 0}, 0x23: {layoutULEB, kindRnglistx},
	0x24: {8, kindAltRef}, 0x25: {1, kindStrx}, 0x26: {2, kindStrx}, 0x27: {3, kindStrx}, 0x28: {4, kindStrx},
	0x29: {1, kindAddrx}, 0x2a: {2, kindAddrx}, 0x2b: {3, kindAddrx}, 0x2c: {4, kindAddrx},
}

var gnuForms = map[uint64]form{
	0x1f01: {layoutULEB, kindAddrx}, 0x1f02: {layoutULEB, kindStrx}, 0x1f20: {layoutOffset, kindAltRef},
	0x1f21: {layoutOffset, kindAltStrp},
}

func formOf(code uint64) form {
	if code < uint64(len(forms)) {
		return forms[code]
	}
	return gnuForms[code]
}

// read reads a value (DWARF 5 §7.5.5). An unknown form fails the cursor.
func (u *unit) read(c *wire.Cursor, s *spec) (v value) {
	v.kind = s.form.kind
	switch s.form.layout {
	case layoutUnknown:
		c.Fail()
	case layoutEmpty:
	case layoutImplicit:
		v.u = uint64(s.implicit)
	case layoutAddr:
		v.u = c.Sized(u.addrSize)
	case layoutOffset:
		v.u = c.Sized(u.offSize)
	case layoutRefAddr:
		size := u.offSize
		if u.version < 3 {
			size = u.addrSize
		}
		v.u = c.Sized(size)
	case layoutULEB:
		v.u = c.ULEB()
	case layoutSLEB:
		v.u = uint64(c.SLEB())
	case layoutString:
		v.b = c.CString()
	case layoutBlock:
		c.Skip(c.ULEB())
	case layoutBlock1:
		c.Skip(uint64(c.U8()))
	case layoutBlock2:
		c.Skip(uint64(c.U16()))
	case layoutBlock4:
		c.Skip(uint64(c.U32()))
	case layoutIndirect:
		direct := spec{form: formOf(c.ULEB())}
		if direct.form.layout != layoutIndirect && direct.form.layout != layoutImplicit {
			return u.read(c, &direct)
		}
		c.Fail()
	case 16:
		c.Skip(16)
	default:
		v.u = c.Sized(uint8(s.form.layout))
	}
	if v.kind == kindUnitRef {
		v.kind, v.u = kindRef, v.u+u.off
	}
	return v
}

// entry has the attributes in use of an entry of .debug_info.
type entry struct {
	name, linkage, compDir               value
	low, high, ranges                    value
	origin                               value // abstract origin or specification
	declLine, callFile, callLine         value
	stmtList, strBase, addrBase, rngBase value
}

// readEntry reads an entry's attributes. c is behind its code.
func (u *unit) readEntry(c *wire.Cursor, a *abbrev) (e entry) {
	for i := range a.specs {
		v := u.read(c, &a.specs[i])
		switch a.specs[i].attr {
		case dwarf.AttrName:
			e.name = v
		case dwarf.AttrLinkageName, attrMIPSLinkage:
			e.linkage = v
		case dwarf.AttrCompDir:
			e.compDir = v
		case dwarf.AttrLowpc:
			e.low = v
		case dwarf.AttrHighpc:
			e.high = v
		case dwarf.AttrRanges:
			e.ranges = v
		case dwarf.AttrAbstractOrigin, dwarf.AttrSpecification:
			e.origin = v
		case dwarf.AttrDeclLine:
			e.declLine = v
		case dwarf.AttrCallFile:
			e.callFile = v
		case dwarf.AttrCallLine:
			e.callLine = v
		case dwarf.AttrStmtList:
			e.stmtList = v
		case dwarf.AttrStrOffsetsBase:
			e.strBase = v
		case dwarf.AttrAddrBase, attrGNUAddrBase:
			e.addrBase = v
		case dwarf.AttrRnglistsBase:
			e.rngBase = v
		}
	}
	return e
}

func (u *unit) stringOf(v value) []byte {
	switch v.kind {
	case kindInline:
		return v.b
	case kindStrp:
		return stringIn(u.d.s.Str, v.u)
	case kindLineStrp:
		return stringIn(u.d.s.LineStr, v.u)
	case kindStrx:
		if off, ok := indexed(u.d.s.StrOffsets, u.strOffBase, v.u, u.offSize); ok {
			return stringIn(u.d.s.Str, off)
		}
	case kindAltStrp:
		if u.d.alt != nil {
			return stringIn(u.d.alt.s.Str, v.u)
		}
	}
	return nil
}

func (u *unit) addr(v value) (uint64, bool) {
	switch v.kind {
	case kindAddr:
		return v.u, true
	case kindAddrx:
		return u.addrx(v.u)
	}
	return 0, false
}

// addrx returns an address in .debug_addr (DWARF 5 §7.27).
func (u *unit) addrx(i uint64) (uint64, bool) { return indexed(u.d.s.Addr, u.addrBase, i, u.addrSize) }

// indexed returns number i, of size bytes, of the table at base, or false if it is outside.
func indexed(table []byte, base, i uint64, size uint8) (uint64, bool) {
	if i > uint64(len(table)) {
		return 0, false
	}
	c := wire.At(table, base+i*uint64(size))
	n := c.Sized(size)
	return n, !c.Bad
}
