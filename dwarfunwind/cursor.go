package dwarfunwind

import (
	"bytes"
	"encoding/binary"
)

// cursor reads little-endian data. Reading beyond the end sets bad, after which
// everything reads as zero; parsing code checks it once.
type cursor struct {
	b   []byte
	pos int
	bad bool
}

// left gives the number of bytes that follow.
func (c *cursor) left() int { return len(c.b) - c.pos }

// take gives the next n bytes, or nil.
func (c *cursor) take(n uint64) []byte {
	if c.bad || n > uint64(c.left()) {
		c.bad = true
		return nil
	}
	p := c.b[c.pos : c.pos+int(n)]
	c.pos += int(n)
	return p
}

func (c *cursor) u8() uint8 {
	if c.bad || c.pos >= len(c.b) {
		c.bad = true
		return 0
	}
	v := c.b[c.pos]
	c.pos++
	return v
}

func (c *cursor) u16() uint16 {
	if p := c.take(2); p != nil {
		return binary.LittleEndian.Uint16(p)
	}
	return 0
}

func (c *cursor) u32() uint32 {
	if p := c.take(4); p != nil {
		return binary.LittleEndian.Uint32(p)
	}
	return 0
}

func (c *cursor) u64() uint64 {
	if p := c.take(8); p != nil {
		return binary.LittleEndian.Uint64(p)
	}
	return 0
}

// uleb reads an unsigned LEB128 number (DWARF 5 §7.6). Bits beyond 64 are
// dropped, and padding is allowed.
func (c *cursor) uleb() uint64 {
	if b := c.u8(); b < 0x80 {
		return uint64(b)
	}
	c.pos--
	v, shift := uint64(0), uint(0)
	for !c.bad {
		b := c.u8()
		if shift < 64 {
			v |= uint64(b&0x7f) << shift
		}
		if shift += 7; b < 0x80 {
			break
		}
	}
	return v
}

// sleb reads a signed LEB128 number.
func (c *cursor) sleb() int64 {
	v, shift := int64(0), uint(0)
	for !c.bad {
		b := c.u8()
		if shift < 64 {
			v |= int64(b&0x7f) << shift
		}
		if shift += 7; b < 0x80 {
			if shift < 64 && b&0x40 != 0 {
				v |= -1 << shift
			}
			break
		}
	}
	return v
}

// sized reads a number of size bytes.
func (c *cursor) sized(size uint8) uint64 {
	switch size {
	case 1:
		return uint64(c.u8())
	case 2:
		return uint64(c.u16())
	case 4:
		return uint64(c.u32())
	case 8:
		return c.u64()
	}
	c.bad = true
	return 0
}

// cstring gives the bytes before the next NUL.
func (c *cursor) cstring() []byte {
	i := bytes.IndexByte(c.b[c.pos:], 0)
	if c.bad || i < 0 {
		c.bad = true
		return nil
	}
	return c.take(uint64(i) + 1)[:i]
}

// block gives the bytes of a block whose ULEB128 length comes first.
func (c *cursor) block() []byte { return c.take(c.uleb()) }
