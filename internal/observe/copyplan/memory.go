// SPDX-License-Identifier: Apache-2.0

package copyplan

import (
	"encoding/binary"

	"prywalk/frames"
	"prywalk/internal/procmem"
	"prywalk/ptrace"
)

// memory is what a plan has copied in one observation.
type memory struct {
	rd          *ptrace.Reader
	out         []frames.Region
	regionCount int
	lastRegion  frames.Region // the region in which copyOf last found bytes
	lastIndex   int           // its index in out, or −1
	buf         []byte
	bufUsed     int
	ranges      usedRanges
	parts       [procmem.MaxPlaces]frames.Region // of readPresent
}

// copyOf returns the copy of size bytes at addr, nil if not all were copied.
func (p *memory) copyOf(addr, size uint64) []byte {
	last := &p.lastRegion
	if off := addr - last.Addr; off < uint64(len(last.Bytes)) && size <= uint64(len(last.Bytes))-off {
		p.ranges.noteUsed(p.lastIndex, addr, size)
		return last.Bytes[off : off+size]
	}
	for i := range p.out[:p.regionCount] {
		if b := bytesAt(p.out[i].Addr, p.out[i].Bytes, addr, size); b != nil {
			p.lastRegion, p.lastIndex = p.out[i], i
			p.ranges.noteUsed(i, addr, size)
			return b
		}
	}
	p.lastRegion, p.lastIndex = frames.Region{}, -1
	from, _ := p.rd.Stack()
	return bytesAt(from, p.rd.StackBytes(), addr, size)
}

// bytesAt returns size bytes at addr of the copy b, which begins at from, or nil.
func bytesAt(from frames.Addr, b []byte, addr, size uint64) []byte {
	off := addr - from
	if n := uint64(len(b)); addr < from || off > n || size > n-off {
		return nil
	}
	return b[off : off+size]
}

// word returns the 8 bytes at addr, from a copy or by a read, 0 if unreadable.
func (p *memory) word(addr frames.Addr) uint64 {
	b := p.copyOf(addr, 8)
	if b == nil {
		if !p.read(addr, 8) {
			return 0
		}
		b = p.copyOf(addr, 8)
	}
	if b == nil {
		return 0
	}
	return binary.LittleEndian.Uint64(b)
}

// read copies up to n bytes into a new region, and reports whether it got any.
func (p *memory) read(addr frames.Addr, n uint64) bool {
	n = min(n, uint64(len(p.buf)-p.bufUsed))
	if n == 0 || p.regionCount == len(p.out) {
		return false
	}
	b := p.buf[p.bufUsed : p.bufUsed+int(n)]
	got := p.rd.Read(addr, b)
	if got == 0 {
		return false
	}
	p.out[p.regionCount] = frames.Region{Addr: addr, Bytes: b[:got]}
	p.regionCount++
	p.bufUsed += got
	p.ranges.noteRead(addr, uint64(got))
	return true
}

// readPresent reads ranges that are present until a moment, as far as there is room, in one call. It returns the number
// of ranges asked for and the bytes read. Precondition: at most [procmem.MaxPlaces] ranges.
func (p *memory) readPresent(ranges []memoryRange, until int64) (asked, got int) {
	used := p.bufUsed
	for _, span := range ranges {
		size := int(span.size())
		if p.regionCount+asked == len(p.out) || size > len(p.buf)-used {
			break
		}
		p.parts[asked] = frames.Region{Addr: span.from, Bytes: p.buf[used : used+size]}
		used += size
		asked++
	}
	parts := p.parts[:asked]
	got = p.rd.ReadPresent(parts, until)
	left := got
	for i := 0; i < asked && left >= len(parts[i].Bytes); i++ {
		left -= len(parts[i].Bytes)
		p.bufUsed += len(parts[i].Bytes)
		p.out[p.regionCount] = parts[i]
		p.regionCount++
	}
	clear(parts)
	return asked, got
}
