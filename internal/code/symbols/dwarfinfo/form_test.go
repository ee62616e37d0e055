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
		form uint64
		u    unit
		kind kind
		want uint64
		size int // −1 if it is refused
	}{
		{0x0b, unit{}, kindConst, one, 1}, {0x05, unit{}, kindConst, two, 2}, {0x06, unit{}, kindConst,
			four, 4},
		{0x07, unit{}, kindConst, eight, 8}, {0x1e, unit{}, kindNone, 0, 16},
		{0x0f, unit{}, kindConst, leb, 2}, {0x0d, unit{}, kindConst, leb, 2}, {0x21, unit{}, kindConst,
			77, 0},
		{0x01, unit{addrSize: 8}, kindAddr, eight, 8}, {0x01, unit{addrSize: 4}, kindAddr, four, 4},
		{0x1b, unit{}, kindAddrx, leb, 2}, {0x29, unit{}, kindAddrx, one, 1}, {0x2a, unit{}, kindAddrx,
			two, 2},
		{0x2b, unit{}, kindAddrx, three, 3}, {0x2c, unit{}, kindAddrx, four, 4},
		{0x1f01, unit{}, kindAddrx, leb, 2},
		{0x08, unit{}, kindInline, 0, 4}, {0x0e, unit{offSize: 4}, kindStrp, four, 4},
		{0x0e, unit{offSize: 8}, kindStrp, eight, 8}, {0x1f, unit{offSize: 4}, kindLineStrp, four, 4},
		{0x1d, unit{offSize: 4}, kindAltStrp, four, 4}, {0x1f21, unit{offSize: 8}, kindAltStrp, eight, 8},
		{0x1a, unit{}, kindStrx, leb, 2}, {0x1f02, unit{}, kindStrx, leb, 2}, {0x25, unit{}, kindStrx,
			one, 1},
		{0x26, unit{}, kindStrx, two, 2}, {0x27, unit{}, kindStrx, three, 3}, {0x28, unit{}, kindStrx,
			four, 4},
		{0x11, unit{off: unitAt}, kindRef, unitAt + one, 1}, {0x12, unit{off: unitAt}, kindRef, unitAt + two, 2},
		{0x13, unit{off: unitAt}, kindRef, unitAt + four, 4}, {0x14, unit{off: unitAt}, kindRef, unitAt + eight, 8},
		{0x15, unit{off: unitAt}, kindRef, unitAt + leb, 2},
		{0x10, unit{off: unitAt, version: 2, addrSize: 8, offSize: 4}, kindRef, eight, 8},
		{0x10, unit{off: unitAt, version: 3, addrSize: 8, offSize: 4}, kindRef, four, 4},
		{0x1c, unit{off: unitAt}, kindAltRef, four, 4}, {0x24, unit{}, kindAltRef, eight, 8},
		{0x1f20, unit{offSize: 4}, kindAltRef, four, 4}, {0x20, unit{}, kindNone, 0, 8},
		{0x17, unit{offSize: 8}, kindOffset, eight, 8}, {0x23, unit{}, kindRnglistx, leb, 2},
		{0x22, unit{}, kindNone, 0, 2}, {0x0c, unit{}, kindNone, 0, 1}, {0x19, unit{}, kindNone, 0,
			0},
		{0x09, unit{}, kindNone, 0, 2 + leb}, {0x18, unit{}, kindNone, 0, 2 + leb},
		{0x0a, unit{}, kindNone, 0, 1 + 0x83}, {0x03, unit{}, kindNone, 0, 2 + 0x183},
		{0x04, unit{}, kindNone, 0, -1}, {0x7fff, unit{}, kindNone, 0, -1},
	} {
		read, skipped := wire.At(b, 0), wire.At(b, 0)
		v := c.u.read(&read, &spec{form: formOf(c.form), implicit: 77})
		c.u.skipEntry(&skipped, &abbrev{specs: []spec{{form: formOf(c.form), implicit: 77}}})
		if refused := c.size < 0; read.Bad != refused || skipped.Bad != refused || !refused && (read.Pos != c.size ||
			skipped.Pos != c.size) {
			t.Errorf("form %#x: %d bytes read, %d skipped, refused %t, %t; want %d", c.form, read.Pos, skipped.Pos, read.Bad,
				skipped.Bad, c.size)
		}
		if v.kind != c.kind || v.kind != kindNone && v.u != c.want || (string(v.b) == "\x83\x01c") != (c.kind == kindInline) {
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
		{[]byte{0x0b, 9}, 9, false},
		{[]byte{0x16, 0x0b, 9}, 0, true},
		{nil, 0, true},
	} {
		u, read, skipped := unit{}, wire.At(c.b, 0), wire.At(c.b, 0)
		v := u.read(&read, &spec{form: formOf(0x16)})
		u.skipEntry(&skipped, &abbrev{specs: []spec{{form: formOf(0x16)}}})
		if v.u != c.want || read.Bad != c.bad || skipped.Bad != c.bad || !c.bad && skipped.Pos != len(c.b) {
			t.Errorf("% x: %+v, refused %t, %t", c.b, v, read.Bad, skipped.Bad)
		}
	}
}
