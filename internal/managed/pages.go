// SPDX-License-Identifier: Apache-2.0

package managed

import "encoding/binary"

// LivePages caches pages of a process during a walk, for one goroutine.
type LivePages struct {
	pages [8]livePage
	n     int
	next  int
}

type livePage struct {
	at    uint64
	bytes int
	b     [4096]byte
}

// Reset empties the cache.
func (p *LivePages) Reset() { p.n = 0 }

// Word gives the word at addr; false if it cannot be read.
func (p *LivePages) Word(l Live, addr uint64) (uint64, bool) {
	at := addr &^ 4095
	if addr-at > 4096-8 {
		var b [8]byte
		ok := l.Read(addr, b[:]) == 8
		return binary.LittleEndian.Uint64(b[:]), ok
	}
	var q *livePage
	for i := range p.pages[:p.n] {
		if p.pages[i].at == at {
			q = &p.pages[i]
		}
	}
	if q == nil {
		if p.n < len(p.pages) {
			p.n++
		}
		q = &p.pages[p.next%p.n]
		p.next++
		if p.next >= len(p.pages) {
			p.next = 0
		}
		*q = livePage{at: at}
		q.bytes = l.Read(at, q.b[:])
	}
	off := int(addr - at)
	if off+8 > q.bytes {
		return 0, false
	}
	return binary.LittleEndian.Uint64(q.b[off:]), true
}
