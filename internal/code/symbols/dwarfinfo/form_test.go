// SPDX-License-Identifier: Apache-2.0

package dwarfinfo

import (
	"encoding/binary"
	"testing"

	"prywalk/internal/base/wire"
)

// DWARF 5 §7.5.5 and table 7.6. The value's bytes are a LEB128 of 131, and a string of three bytes.
func TestFormsAreReadAndSkippedAlike(t *testing.T) {
	b := append([]byte{0x83, 0x01, 'c', 0, 5, 6, 7, 8}, make([]byte, 400)...)
	const unitAt, leb = 100, 131
	one, two, three, four := uint64(0x83), uint64(0x183), uint64(0x630183), uint64(0x630183)
	eight := binary.LittleEndian.Uint64(b)
	for _, c := range []struct {
		form uint16
		u    unit
		kind kind
		want uint64
		size int // −1: refused
	}{
		{formData1, unit{}, kindConst, one, 1}, {formData2, unit{}, kindConst, two, 2}, {formData4, unit{}, kindConst,
			four, 4},
		{formData8, unit{}, kindConst, eight, 8}, {formData16, unit{}, kindNone, 0, 16},
		{formUdata, unit{}, kindConst, leb, 2}, {formSdata, unit{}, kindConst, leb, 2}, {formImplicit, unit{}, kindConst,
			77, 0},
		{formAddr, unit{addrSize: 8}, kindAddr, eight, 8}, {formAddr, unit{addrSize: 4}, kindAddr, four, 4},
		{formAddrx, unit{}, kindAddrx, leb, 2}, {formAddrx1, unit{}, kindAddrx, one, 1}, {formAddrx2, unit{}, kindAddrx,
			two, 2},
		{formAddrx3, unit{}, kindAddrx, three, 3}, {formAddrx4, unit{}, kindAddrx, four, 4},
		{formGNUAddrIndex, unit{}, kindAddrx, leb, 2},
		{formString, unit{}, kindInline, 0, 4}, {formStrp, unit{offSize: 4}, kindStrp, four, 4},
		{formStrp, unit{offSize: 8}, kindStrp, eight, 8}, {formLineStrp, unit{offSize: 4}, kindLineStrp, four, 4},
		{formStrpSup, unit{offSize: 4}, kindAltStrp, four, 4}, {formGNUStrpAlt, unit{offSize: 8}, kindAltStrp, eight, 8},
		{formStrx, unit{}, kindStrx, leb, 2}, {formGNUStrIndex, unit{}, kindStrx, leb, 2}, {formStrx1, unit{}, kindStrx,
			one, 1},
		{formStrx2, unit{}, kindStrx, two, 2}, {formStrx3, unit{}, kindStrx, three, 3}, {formStrx4, unit{}, kindStrx,
			four, 4},
		{formRef1, unit{off: unitAt}, kindRef, unitAt + one, 1}, {formRef2, unit{off: unitAt}, kindRef, unitAt + two, 2},
		{formRef4, unit{off: unitAt}, kindRef, unitAt + four, 4}, {formRef8, unit{off: unitAt}, kindRef, unitAt + eight, 8},
		{formRefUdata, unit{off: unitAt}, kindRef, unitAt + leb, 2},
		{formRefAddr, unit{off: unitAt, version: 2, addrSize: 8, offSize: 4}, kindRef, eight, 8},
		{formRefAddr, unit{off: unitAt, version: 3, addrSize: 8, offSize: 4}, kindRef, four, 4},
		{formRefSup4, unit{off: unitAt}, kindAltRef, four, 4}, {formRefSup8, unit{}, kindAltRef, eight, 8},
		{formGNURefAlt, unit{offSize: 4}, kindAltRef, four, 4}, {formRefSig8, unit{}, kindNone, 0, 8},
		{formSecOffset, unit{offSize: 8}, kindOffset, eight, 8}, {formRnglistx, unit{}, kindRnglistx, leb, 2},
		{formLoclistx, unit{}, kindNone, 0, 2}, {formFlag, unit{}, kindNone, 0, 1}, {formFlagPresent, unit{}, kindNone, 0,
			0},
		{formBlock, unit{}, kindNone, 0, 2 + leb}, {formExprloc, unit{}, kindNone, 0, 2 + leb},
		{formBlock1, unit{}, kindNone, 0, 1 + 0x83}, {formBlock2, unit{}, kindNone, 0, 2 + 0x183},
		{formBlock4, unit{}, kindNone, 0, -1}, {0x7fff, unit{}, kindNone, 0, -1},
	} {
		read, skipped := wire.At(b, 0), wire.At(b, 0)
		v := c.u.readForm(&read, spec{form: c.form, implicit: 77})
		c.u.skipForm(&skipped, c.form)
		if refused := c.size < 0; read.Bad != refused || skipped.Bad != refused || !refused && (read.Pos != c.size ||
			skipped.Pos != c.size) {
			t.Errorf("form %#x: %d bytes read, %d skipped, refused %t, %t; want %d", c.form, read.Pos, skipped.Pos, read.Bad,
				skipped.Bad, c.size)
		}
		if v.kind != c.kind || v.u != c.want || (string(v.b) == "\x83\x01c") != (c.kind == kindInline) {
			t.Errorf("form %#x: %+v, want kind %d, %#x", c.form, v, c.kind, c.want)
		}
	}
}

func TestIndirectFormsNameTheirForm(t *testing.T) {
	for _, c := range []struct {
		b    []byte
		want uint64
		bad  bool
	}{
		{[]byte{formData1, 9}, 9, false},
		{[]byte{formIndirect, formData1, 9}, 0, true},
		{nil, 0, true},
	} {
		u, read, skipped := unit{}, wire.At(c.b, 0), wire.At(c.b, 0)
		v := u.readForm(&read, spec{form: formIndirect})
		u.skipForm(&skipped, formIndirect)
		if v.u != c.want || read.Bad != c.bad || skipped.Bad != c.bad || !c.bad && skipped.Pos != len(c.b) {
			t.Errorf("% x: %+v, refused %t, %t", c.b, v, read.Bad, skipped.Bad)
		}
	}
}
