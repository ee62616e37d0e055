// SPDX-License-Identifier: Apache-2.0

package copying

import (
	"encoding/binary"

	"prywalk/frames"
	"prywalk/internal/procmem"
)

type memory struct {
	progress
	buf    []byte
	ranges usedRanges
	parts  [procmem.MaxPlaces]frames.Region // of readPresent
}

// copyOf returns nil if not all bytes were copied.
func (m *memory) copyOf(addr, size uint64) []byte {
	last := &m.lastRegion
	if b := bytesAt(last.Addr, last.Bytes, addr, size); b != nil {
		m.ranges.noteUsed(m.lastIndex, addr, size)
		return b
	}
	for i := range m.out[:m.regionCount] {
		if b := bytesAt(m.out[i].Addr, m.out[i].Bytes, addr, size); b != nil {
			m.lastRegion, m.lastIndex = m.out[i], i
			m.ranges.noteUsed(i, addr, size)
			return b
		}
	}
	m.lastRegion, m.lastIndex = frames.Region{}, -1
	from, _ := m.rd.Stack()
	return bytesAt(from, m.rd.StackBytes(), addr, size)
}

func bytesAt(from frames.Addr, b []byte, addr, size uint64) []byte {
	off := addr - from
	if n := uint64(len(b)); addr < from || off > n || size > n-off {
		return nil
	}
	return b[off : off+size]
}

// word returns 0 if unreadable.
func (m *memory) word(addr uint64) uint64 {
	b := m.copyOf(addr, 8)
	if b == nil && m.read(addr, 8) {
		b = m.copyOf(addr, 8)
	}
	if b == nil {
		return 0
	}
	return binary.LittleEndian.Uint64(b)
}

// copyPart reads what no region has yet. It returns false if nothing is readable.
func (m *memory) copyPart(addr, n uint64) bool { return m.copyOf(addr, n) != nil || m.read(addr, n) }

// read copies up to n bytes into a new region, and returns whether it got any.
func (m *memory) read(addr frames.Addr, n uint64) bool {
	n = min(n, uint64(len(m.buf)-m.bufUsed))
	if n == 0 || m.regionCount == len(m.out) {
		return false
	}
	b := m.buf[m.bufUsed : m.bufUsed+int(n)]
	got := m.rd.Read(addr, b)
	if got == 0 {
		return false
	}
	m.out[m.regionCount] = frames.Region{Addr: addr, Bytes: b[:got]}
	m.regionCount++
	m.bufUsed += got
	m.ranges.noteRead(addr, uint64(got))
	return true
}

// readPresent reads in one call, as far as there is room. It returns the ranges asked for and the bytes read.
// Precondition: at most [procmem.MaxPlaces] ranges.
func (m *memory) readPresent(ranges []memoryRange, until int64) (asked, got int) {
	used := m.bufUsed
	for _, span := range ranges {
		size := int(span.size())
		if m.regionCount+asked == len(m.out) || size > len(m.buf)-used {
			break
		}
		m.parts[asked] = frames.Region{Addr: span.from, Bytes: m.buf[used : used+size]}
		used += size
		asked++
	}
	parts := m.parts[:asked]
	got = m.rd.ReadPresent(parts, until)
	left := got
	for i := 0; i < asked && left >= len(parts[i].Bytes); i++ {
		left -= len(parts[i].Bytes)
		m.bufUsed += len(parts[i].Bytes)
		m.out[m.regionCount] = parts[i]
		m.regionCount++
	}
	clear(parts)
	return asked, got
}
