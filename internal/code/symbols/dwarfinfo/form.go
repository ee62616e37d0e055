// SPDX-License-Identifier: Apache-2.0

package dwarfinfo

import "prywalk/internal/base/wire"

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

// formSize is in bytes; −1: depends on the entry.
func (u *unit) formSize(form uint16) int {
	switch form {
	case formImplicit, formFlagPresent:
		return 0
	case formData1, formFlag, formRef1, formStrx1, formAddrx1:
		return 1
	case formData2, formRef2, formStrx2, formAddrx2:
		return 2
	case formStrx3, formAddrx3:
		return 3
	case formData4, formRef4, formStrx4, formAddrx4, formRefSup4:
		return 4
	case formData8, formRef8, formRefSig8, formRefSup8:
		return 8
	case formData16:
		return 16
	case formAddr:
		return int(u.addrSize)
	case formStrp, formLineStrp, formSecOffset, formStrpSup, formGNURefAlt, formGNUStrpAlt:
		return int(u.offSize)
	case formRefAddr:
		if u.version < 3 {
			return int(u.addrSize)
		}
		return int(u.offSize)
	}
	return -1
}

// skipForm skips a value (DWARF 5 §7.5.5). An unknown form fails the cursor.
func (u *unit) skipForm(c *wire.Cursor, form uint16) {
	if n := u.formSize(form); n >= 0 {
		c.Skip(uint64(n))
		return
	}
	switch form {
	case formString:
		c.CString()
	case formSdata, formUdata, formRefUdata, formStrx, formAddrx, formLoclistx, formRnglistx, formGNUAddrIndex,
		formGNUStrIndex:
		c.ULEB()
	case formBlock, formExprloc:
		c.Skip(c.ULEB())
	case formBlock1:
		c.Skip(uint64(c.U8()))
	case formBlock2:
		c.Skip(uint64(c.U16()))
	case formBlock4:
		c.Skip(uint64(c.U32()))
	case formIndirect:
		if f := clip16(c.ULEB()); f != formIndirect {
			u.skipForm(c, f)
			return
		}
		c.Fail()
	default:
		c.Fail()
	}
}

func (u *unit) readForm(c *wire.Cursor, s spec) value {
	switch s.form {
	case formData1, formData2, formData4, formData8:
		return value{kind: kindConst, u: c.Sized(uint8(u.formSize(s.form)))}
	case formUdata:
		return value{kind: kindConst, u: c.ULEB()}
	case formSdata:
		return value{kind: kindConst, u: uint64(c.SLEB())}
	case formImplicit:
		return value{kind: kindConst, u: uint64(s.implicit)}
	case formAddr:
		return value{kind: kindAddr, u: c.Sized(u.addrSize)}
	case formSecOffset:
		return value{kind: kindOffset, u: c.Sized(u.offSize)}
	case formRnglistx:
		return value{kind: kindRnglistx, u: c.ULEB()}
	case formIndirect:
		if f := clip16(c.ULEB()); f != formIndirect && f != formImplicit {
			return u.readForm(c, spec{form: f})
		}
		c.Fail()
		return value{}
	}
	if v, ok := u.readTextOrAddr(c, s.form); ok {
		return v
	}
	if v, ok := u.readRef(c, s.form); ok {
		return v
	}
	u.skipForm(c, s.form)
	return value{}
}

func (u *unit) readTextOrAddr(c *wire.Cursor, form uint16) (value, bool) {
	switch form {
	case formString:
		return value{kind: kindInline, b: c.CString()}, true
	case formStrp:
		return value{kind: kindStrp, u: c.Sized(u.offSize)}, true
	case formLineStrp:
		return value{kind: kindLineStrp, u: c.Sized(u.offSize)}, true
	case formStrpSup, formGNUStrpAlt:
		return value{kind: kindAltStrp, u: c.Sized(u.offSize)}, true
	case formStrx, formGNUStrIndex:
		return value{kind: kindStrx, u: c.ULEB()}, true
	case formStrx1, formStrx2, formStrx3, formStrx4:
		return value{kind: kindStrx, u: c.Sized(uint8(form - formStrx1 + 1))}, true
	case formAddrx, formGNUAddrIndex:
		return value{kind: kindAddrx, u: c.ULEB()}, true
	case formAddrx1, formAddrx2, formAddrx3, formAddrx4:
		return value{kind: kindAddrx, u: c.Sized(uint8(form - formAddrx1 + 1))}, true
	}
	return value{}, false
}

func (u *unit) readRef(c *wire.Cursor, form uint16) (value, bool) {
	switch form {
	case formRef1, formRef2, formRef4, formRef8:
		return value{kind: kindRef, u: u.off + c.Sized(uint8(u.formSize(form)))}, true
	case formRefUdata:
		return value{kind: kindRef, u: u.off + c.ULEB()}, true
	case formRefAddr:
		return value{kind: kindRef, u: c.Sized(uint8(u.formSize(form)))}, true
	case formRefSup4:
		return value{kind: kindAltRef, u: uint64(c.U32())}, true
	case formRefSup8:
		return value{kind: kindAltRef, u: c.U64()}, true
	case formGNURefAlt:
		return value{kind: kindAltRef, u: c.Sized(u.offSize)}, true
	}
	return value{}, false
}

func (u *unit) stringOf(v value) []byte {
	switch v.kind {
	case kindInline:
		return v.b
	case kindStrp:
		return stringIn(u.d.s.Str, v.u)
	case kindLineStrp:
		return stringIn(Bytes(u.d.s.LineStr), v.u)
	case kindStrx:
		if v.u > uint64(len(u.d.s.StrOffsets)) {
			return nil
		}
		c := wire.At(u.d.s.StrOffsets, u.strOffBase+v.u*uint64(u.offSize))
		if off := c.Sized(u.offSize); !c.Bad {
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
func (u *unit) addrx(i uint64) (uint64, bool) {
	if i > uint64(len(u.d.s.Addr)) {
		return 0, false
	}
	c := wire.At(u.d.s.Addr, u.addrBase+i*uint64(u.addrSize))
	a := c.Sized(u.addrSize)
	return a, !c.Bad
}
