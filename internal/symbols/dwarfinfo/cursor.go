package dwarfinfo

import (
	"bytes"
	"encoding/binary"
)

// cursor reads a section. An attempt to read past the end sets bad, which stays,
// and gives zeros, so that parsing code needs no check at each step.
type cursor struct {
	b   []byte
	off int
	bad bool
}

// at gives a cursor into b at off; a bad one if off is outside.
func at(b []byte, off uint64) cursor {
	if off > uint64(len(b)) {
		return cursor{bad: true}
	}
	return cursor{b: b, off: int(off)}
}

// done reports whether nothing is left, or something went wrong.
func (c *cursor) done() bool { return c.bad || c.off >= len(c.b) }

// fail moves to the end for good.
func (c *cursor) fail() { c.bad, c.off = true, len(c.b) }

// bytes gives the next n bytes.
func (c *cursor) bytes(n uint64) []byte {
	if n > uint64(len(c.b)-c.off) {
		c.fail()
		return nil
	}
	b := c.b[c.off : c.off+int(n)]
	c.off += int(n)
	return b
}

func (c *cursor) skip(n uint64) {
	if n > uint64(len(c.b)-c.off) {
		c.fail()
		return
	}
	c.off += int(n)
}

func (c *cursor) u8() uint8 {
	if c.off >= len(c.b) {
		c.fail()
		return 0
	}
	v := c.b[c.off]
	c.off++
	return v
}

func (c *cursor) u16() uint16 {
	if b := c.bytes(2); b != nil {
		return binary.LittleEndian.Uint16(b)
	}
	return 0
}

func (c *cursor) u32() uint32 {
	if b := c.bytes(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

func (c *cursor) u64() uint64 {
	if b := c.bytes(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// uint reads a number of 1 to 8 bytes.
func (c *cursor) uint(size uint8) uint64 {
	switch size {
	case 1:
		return uint64(c.u8())
	case 2:
		return uint64(c.u16())
	case 4:
		return uint64(c.u32())
	case 8:
		return c.u64()
	case 3:
		lo := c.u16()
		return uint64(lo) | uint64(c.u8())<<16
	}
	c.fail()
	return 0
}

// maxLEB is the number of bits after which a LEB128 number is taken for damage:
// padding is allowed, but nobody pads beyond twice the size.
const maxLEB = 2 * 70

// uleb reads an unsigned LEB128 number (DWARF 5 §7.6); bits beyond 64 are lost.
func (c *cursor) uleb() uint64 {
	var v uint64
	for shift := uint(0); shift < maxLEB; shift += 7 {
		b := c.u8()
		if shift < 64 {
			v |= uint64(b&0x7f) << shift
		}
		if b&0x80 == 0 {
			return v
		}
	}
	c.fail()
	return 0
}

// sleb reads a signed LEB128 number (DWARF 5 §7.6).
func (c *cursor) sleb() int64 {
	var v int64
	for shift := uint(0); shift < maxLEB; shift += 7 {
		b := c.u8()
		if shift < 64 {
			v |= int64(b&0x7f) << shift
		}
		if b&0x80 == 0 {
			if b&0x40 != 0 && shift+7 < 64 {
				v |= -1 << (shift + 7)
			}
			return v
		}
	}
	c.fail()
	return 0
}

// cstr reads a string that ends with a zero byte, without that byte.
func (c *cursor) cstr() []byte {
	n := bytes.IndexByte(c.b[c.off:], 0)
	if n < 0 {
		c.fail()
		return nil
	}
	s := c.b[c.off : c.off+n]
	c.off += n + 1
	return s
}

// initialLength reads a unit's length (DWARF 5 §7.4) and the size of its offsets.
func (c *cursor) initialLength() (length uint64, offSize uint8) {
	n := c.u32()
	switch {
	case n == 0xffffffff:
		return c.u64(), 8
	case n >= 0xfffffff0:
		c.fail()
	}
	return uint64(n), 4
}
