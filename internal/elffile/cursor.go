package elffile

import (
	"bytes"
	"encoding/binary"
)

// cursor reads little-endian numbers from a buffer. An attempt to read beyond
// the end sets bad, and from then on everything reads as zero, so that parsing
// code checks once, at its end.
type cursor struct {
	b   []byte
	bad bool
}

// take gives the next n bytes, or nil.
func (c *cursor) take(n uint64) []byte {
	if c.bad || n > uint64(len(c.b)) {
		c.bad = true
		return nil
	}
	p := c.b[:n]
	c.b = c.b[n:]
	return p
}

func (c *cursor) u8() uint8 {
	if p := c.take(1); p != nil {
		return p[0]
	}
	return 0
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

// align skips to a multiple of n, counted from a buffer of size bytes of which
// c holds the rest. Padding that the end cuts off is no error.
func (c *cursor) align(size int, n uint64) {
	pos := uint64(size - len(c.b))
	c.take(min((n-pos%n)%n, uint64(len(c.b))))
}

// cstring gives the bytes up to a NUL as a string; without one it is "".
func (c *cursor) cstring() string {
	i := bytes.IndexByte(c.b, 0)
	if i < 0 {
		c.bad = true
		return ""
	}
	return string(c.take(uint64(i) + 1)[:i])
}
