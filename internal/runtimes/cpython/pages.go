// SPDX-License-Identifier: Apache-2.0

package cpython

import (
	"encoding/binary"

	"prywalk/internal/managed"
)

// livePages keeps the last pages that were read for a walk.
type livePages struct {
	pages [8]livePage
	n     int
	next  int
}

type livePage struct {
	at    uint64
	bytes int
	b     [4096]byte
}

// word gives the word at addr.
func (p *livePages) word(l managed.Live, addr uint64) (uint64, bool) {
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
