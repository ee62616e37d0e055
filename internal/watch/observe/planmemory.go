// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"encoding/binary"

	"prywalk/frames"
)

// copyOf returns nil if not all bytes were copied.
func (c *planCopier) copyOf(addr, size uint64) []byte {
	last := &c.progress.lastRegion
	if b := bytesAt(last.Addr, last.Bytes, addr, size); b != nil {
		return b
	}
	for i := range c.progress.out[:c.progress.regionCount] {
		if b := bytesAt(c.progress.out[i].Addr, c.progress.out[i].Bytes, addr, size); b != nil {
			c.progress.lastRegion, c.progress.lastIndex = c.progress.out[i], i
			return b
		}
	}
	c.progress.lastRegion, c.progress.lastIndex = frames.Region{}, -1
	from, _ := c.progress.rd.Stack()
	return bytesAt(from, c.progress.rd.StackBytes(), addr, size)
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
	n = min(n, uint64(len(c.buf)-c.progress.bufUsed))
	if n == 0 || c.progress.regionCount == len(c.progress.out) {
		return false
	}
	b := c.buf[c.progress.bufUsed : c.progress.bufUsed+int(n)]
	got := c.progress.rd.Read(addr, b)
	if got == 0 {
		return false
	}
	c.progress.out[c.progress.regionCount] = frames.Region{Addr: addr, Bytes: b[:got]}
	c.progress.regionCount++
	c.progress.bufUsed += got
	return true
}
