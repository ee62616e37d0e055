// SPDX-License-Identifier: Apache-2.0

package managed

import "encoding/binary"

// Pages caches the pages that a walk or a query reads, for one goroutine: a read of a page costs little more than one
// of a word. The zero value reads nothing.
type Pages struct {
	of    Reader
	index map[uint64]*page
	pages []*page // those in use first
	used  int
	last  *page
}

type page struct {
	at   uint64
	size int // bytes that could be read
	b    [pageSize]byte
}

const (
	pageSize = 4096
	maxPages = 512
)

// Reset empties the cache, and sets whose memory it reads; nil: none.
func (p *Pages) Reset(of Reader) {
	p.of, p.used, p.last = of, 0, nil
	clear(p.index)
}

// Read reads through the cache, and gives the number of bytes.
func (p *Pages) Read(addr uint64, b []byte) (done int) {
	for done < len(b) && p.of != nil {
		at := addr + uint64(done)
		q := p.page(at &^ (pageSize - 1))
		off := int(at & (pageSize - 1))
		if off >= q.size {
			break
		}
		done += copy(b[done:], q.b[off:q.size])
	}
	return done
}

// Word reads the word at addr; false if it cannot be read.
func (p *Pages) Word(addr uint64) (uint64, bool) {
	var b [8]byte // not by an interface, for which it would be allocated
	ok := p.Read(addr, b[:]) == len(b)
	return binary.LittleEndian.Uint64(b[:]), ok
}

func (p *Pages) page(at uint64) *page {
	if p.last != nil && p.last.at == at {
		return p.last
	}
	q := p.index[at]
	if q == nil {
		q = p.free()
		p.index[at] = q
		q.at, q.size = at, max(p.of.Read(at, q.b[:]), 0)
	}
	p.last = q
	return q
}

func (p *Pages) free() *page {
	if p.used == maxPages || p.index == nil {
		p.index, p.used = map[uint64]*page{}, 0
	}
	if p.used == len(p.pages) {
		p.pages = append(p.pages, new(page))
	}
	p.used++
	return p.pages[p.used-1]
}
