// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"encoding/binary"

	"prywalk/frames"
)

// copyOf returns nil if not all bytes were copied.
func (c *planCopier) copyOf(addr, size uint64) []byte {
	last := &c.lastRegion
	if b := bytesAt(last.Addr, last.Bytes, addr, size); b != nil {
		return b
	}
	for i := range c.out[:c.regionCount] {
		if b := bytesAt(c.out[i].Addr, c.out[i].Bytes, addr, size); b != nil {
			c.lastRegion, c.lastIndex = c.out[i], i
			return b
		}
	}
	c.lastRegion, c.lastIndex = frames.Region{}, -1
	from, _ := c.rd.Stack()
	return bytesAt(from, c.rd.StackBytes(), addr, size)
}

func bytesAt(from frames.Addr, b []byte, addr, size uint64) []byte {
	off := addr - from
	if n := uint64(len(b)); addr < from || off > n || size > n-off {
		return nil
	}
	return b[off : off+size]
}

// word returns 0 if unreadable.
func (c *planCopier) word(addr uint64) uint64 {
	b := c.copyOf(addr, 8)
	if b == nil && c.read(addr, 8) {
		b = c.copyOf(addr, 8)
	}
	if b == nil {
		return 0
	}
	return binary.LittleEndian.Uint64(b)
}

// copyPart reads what no region has yet. It returns false if nothing is readable.
func (c *planCopier) copyPart(addr, n uint64) bool {
	return c.copyOf(addr, n) != nil || c.read(addr, n)
}

// read copies up to n bytes into a new region, and returns whether it got any.
func (c *planCopier) read(addr frames.Addr, n uint64) bool {
	n = min(n, uint64(len(c.buf)-c.bufUsed))
	if n == 0 || c.regionCount == len(c.out) {
		return false
	}
	b := c.buf[c.bufUsed : c.bufUsed+int(n)]
	got := c.rd.Read(addr, b)
	if got == 0 {
		return false
	}
	c.out[c.regionCount] = frames.Region{Addr: addr, Bytes: b[:got]}
	c.regionCount++
	c.bufUsed += got
	return true
}
