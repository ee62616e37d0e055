// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"bytes"
	"encoding/binary"
	"testing"
)

func TestNumbersAreLittleEndian(t *testing.T) {
	c := Cursor{Bytes: []byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18}}
	if v := c.U8(); v != 1 {
		t.Errorf("%#x", v)
	}
	if v := c.U16(); v != 0x0302 {
		t.Errorf("%#x", v)
	}
	if v := c.U32(); v != 0x07060504 {
		t.Errorf("%#x", v)
	}
	if v := c.U64(); v != 0x0f0e0d0c0b0a0908 {
		t.Errorf("%#x", v)
	}
	if v := c.Sized(3); v != 0x121110 || c.Bad || !c.Done() {
		t.Errorf("%#x, %+v", v, c)
	}
}

// DWARF 5 §7.6, and padding.
func TestLEB128(t *testing.T) {
	for _, c := range []struct {
		bytes    string
		unsigned uint64
		signed   int64
	}{
		{"\x02", 2, 2}, {"\x7f", 127, -1}, {"\x80\x01", 128, 128}, {"\x81\x01", 129, 129}, {"\xb9\x64", 12857, -3527},
		{"\x7e", 126, -2},
		{"\xff\x00", 127, 127}, {"\x80\x7f", 16256, -128}, {"\x82\x80\x80\x00", 2, 2}, {"\xfe\xff\xff\x7f", 1<<28 - 2, -2},
		{"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 1<<64 - 1, -1},
		{"\x80\x80\x80\x80\x80\x80\x80\x80\x80\x7f", 1 << 63, -1 << 63},
		{"\x81\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00", 1, 1},
	} {
		u, s := Cursor{Bytes: []byte(c.bytes)}, Cursor{Bytes: []byte(c.bytes)}
		if v := u.ULEB(); v != c.unsigned || u.Bad || !u.Done() {
			t.Errorf("% x: %d unsigned, want %d; %+v", c.bytes, v, c.unsigned, u)
		}
		if v := s.SLEB(); v != c.signed || s.Bad || !s.Done() {
			t.Errorf("% x: %d signed, want %d; %+v", c.bytes, v, c.signed, s)
		}
	}
}

func TestWhatIsNotThereIsZeroAndStaysSo(t *testing.T) {
	endless := bytes.Repeat([]byte{0x80}, 100)
	for name, read := range map[string]func(c *Cursor) uint64{
		"8": func(c *Cursor) uint64 { return c.U64() }, "size": func(c *Cursor) uint64 { return c.Sized(5) },
		"ULEB": func(c *Cursor) uint64 { return c.ULEB() }, "SLEB": func(c *Cursor) uint64 { return uint64(c.SLEB()) },
		"string": func(c *Cursor) uint64 { return uint64(len(c.CString())) },
		"bytes":  func(c *Cursor) uint64 { return uint64(len(c.Take(1 << 63))) },
		"skip":   func(c *Cursor) uint64 { c.Skip(1 << 63); return 0 },
		"block":  func(c *Cursor) uint64 { return uint64(len(c.Block())) },
	} {
		c := Cursor{Bytes: endless}
		if name == "8" {
			c.Bytes = endless[:7]
		}
		if v := read(&c); v != 0 || !c.Bad || !c.Done() {
			t.Errorf("%s: %d, bad %v at %d", name, v, c.Bad, c.Pos)
		}
		if c.U8() != 0 || c.U16() != 0 || c.U32() != 0 || c.Left() != 0 || len(c.Rest()) != 0 {
			t.Errorf("%s: something is read behind the end", name)
		}
	}
	for _, off := range []uint64{3, 1 << 63} {
		if c := At([]byte{1, 2}, off); !c.Bad || c.U8() != 0 {
			t.Errorf("at %d: %+v", off, c)
		}
	}
	c := Cursor{Bytes: []byte{1}, Pos: 9}
	if c.U8() != 0 || !c.Bad || c.Rest() == nil {
		t.Errorf("%+v", c)
	}
}

func TestStringsAndBlocksEndWhereTheyShould(t *testing.T) {
	c := Cursor{Bytes: []byte("one\x00\x00\x03abcd")}
	for _, want := range []string{"one", ""} {
		if s := c.CString(); string(s) != want {
			t.Errorf("%q, want %q", s, want)
		}
	}
	if b := c.Block(); string(b) != "abc" || string(c.Rest()) != "d" || c.Bad {
		t.Errorf("%q, then %q", b, c.Rest())
	}
}

func FuzzCursor(f *testing.F) {
	f.Add([]byte{0x80, 0x01}, uint8(0))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01}, uint8(9))
	f.Fuzz(func(t *testing.T, b []byte, from uint8) {
		c := At(b, uint64(from))
		if want, n := binary.Uvarint(c.Rest()); n > 0 {
			if got := c.ULEB(); got != want || c.Pos != int(from)+n {
				t.Errorf("% x: %d at %d, want %d at %d", b, got, c.Pos, want, int(from)+n)
			}
		}
		for reads := 0; !c.Done(); reads++ {
			before := c.Pos
			switch reads % 6 {
			case 0:
				c.SLEB()
			case 1:
				c.CString()
			case 2:
				c.Block()
			case 3:
				c.Sized(c.U8())
			case 4:
				c.Skip(c.ULEB())
			default:
				c.ULEB()
			}
			if c.Pos <= before || c.Pos > len(b) || c.Bad != (c.Bad && c.Pos == len(b)) {
				t.Fatalf("from %d to %d of %d, bad %v", before, c.Pos, len(b), c.Bad)
			}
		}
	})
}
