// SPDX-License-Identifier: Apache-2.0

// Package wire reads little-endian ELF, DWARF and kernel records. A [Cursor] has a sticky error: a read beyond the end
// gives zero and sets Bad, so that parsers check once, at the end (as debug/dwarf's buf).
package wire

import (
	"bytes"
	"encoding/binary"
)

// Cursor reads bytes from left to right. The zero Cursor is empty.
type Cursor struct {
	Bytes []byte
	// Pos is the next byte's index, never negative; the end after a failure.
	Pos int
	// Bad means that a read went beyond the end, or [Cursor.Fail] was called.
	Bad bool
}

// At returns a cursor into b at off; a bad one if off is outside.
func At(b []byte, off uint64) Cursor {
	if off > uint64(len(b)) {
		return Cursor{Bad: true}
	}
	return Cursor{Bytes: b, Pos: int(off)}
}

// Fail sets Bad and moves to the end.
func (c *Cursor) Fail() { c.Bad, c.Pos = true, len(c.Bytes) }

// Done reports whether nothing is left, or Bad.
func (c *Cursor) Done() bool { return c.Bad || c.Pos >= len(c.Bytes) }

// Left returns the number of bytes that follow.
func (c *Cursor) Left() int { return max(0, len(c.Bytes)-c.Pos) }

// Rest returns the bytes that follow, not consumed.
func (c *Cursor) Rest() []byte { return c.Bytes[len(c.Bytes)-c.Left():] }

// Take returns the next n bytes, nil if there are fewer.
func (c *Cursor) Take(n uint64) []byte {
	if n > uint64(c.Left()) {
		c.Fail()
		return nil
	}
	b := c.Bytes[c.Pos : c.Pos+int(n)]
	c.Pos += int(n)
	return b
}

// Skip passes over n bytes.
func (c *Cursor) Skip(n uint64) { c.Take(n) }

// U8 reads a byte.
func (c *Cursor) U8() uint8 {
	if b := c.Take(1); b != nil {
		return b[0]
	}
	return 0
}

// U16 reads 2 bytes.
func (c *Cursor) U16() uint16 {
	if b := c.Take(2); b != nil {
		return binary.LittleEndian.Uint16(b)
	}
	return 0
}

// U32 reads 4 bytes.
func (c *Cursor) U32() uint32 {
	if b := c.Take(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

// U64 reads 8 bytes.
func (c *Cursor) U64() uint64 {
	if b := c.Take(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// Sized reads 1, 2, 3, 4 or 8 bytes (3: DW_FORM_strx3, DWARF 5 §7.5.6); other sizes fail.
func (c *Cursor) Sized(size uint8) uint64 {
	switch size {
	case 1:
		return uint64(c.U8())
	case 2:
		return uint64(c.U16())
	case 3:
		low := c.U16()
		return uint64(low) | uint64(c.U8())<<16
	case 4:
		return uint64(c.U32())
	case 8:
		return c.U64()
	}
	c.Fail()
	return 0
}

// maxLEB is in bits, padding included.
const maxLEB = 2 * 70

// ULEB reads an unsigned LEB128 number (DWARF 5 §7.6); bits beyond 64 are lost.
func (c *Cursor) ULEB() uint64 {
	v, _ := c.leb()
	return v
}

// SLEB reads a signed LEB128 number (DWARF 5 §7.6).
func (c *Cursor) SLEB() int64 {
	v, unused := c.leb()
	return int64(v<<unused) >> unused
}

// leb also returns the number of the upper bits that the number does not have.
func (c *Cursor) leb() (v uint64, unused uint) {
	for shift := uint(0); shift < maxLEB; shift += 7 {
		b := c.U8()
		v |= uint64(b&0x7f) << shift // 0 from shift 64 on
		if b < 0x80 {
			return v, 64 - min(shift+7, 64)
		}
	}
	c.Fail()
	return 0, 0
}

// CString reads up to the next NUL, exclusive; nil if there is none.
func (c *Cursor) CString() []byte {
	n := bytes.IndexByte(c.Rest(), 0)
	if n < 0 {
		c.Fail()
		return nil
	}
	return c.Take(uint64(n) + 1)[:n]
}

// Block reads a block that begins with its ULEB128 length.
func (c *Cursor) Block() []byte { return c.Take(c.ULEB()) }
