// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"encoding/binary"

	"prywalk/frames"
	"prywalk/internal/host/procmem"
)

// Pages caches memory pages for one goroutine. The zero value reads nothing.
type Pages struct {
	source  Reader
	index   map[uint64]*page
	pages   []*page // those in use first
	used    int
	last    *page
	parts   []frames.Region
	Dropped int // pages, as they were too many
}

type page struct {
	at    uint64
	size  int  // readable bytes
	asked bool // since the last Reset or Reread
	b     [pageSize]byte
}

const (
	pageSize = 4096
	maxPages = 512
	fewPages = 16
)

// Reset empties the cache and sets its source, which may be nil.
func (p *Pages) Reset(source Reader) {
	if n := len(p.pages); n > max(p.used, fewPages) { // free one after a deep stack
		p.pages[n-1], p.pages = nil, p.pages[:n-1]
	}
	p.source, p.used, p.last = source, 0, nil
	clear(p.index)
}

// Expect counts an area's pages as used. Precondition: the cache was empty, and Reread follows.
func (p *Pages) Expect(from, to uint64) {
	for at := from &^ (pageSize - 1); at < to && p.used < maxPages; at += pageSize {
		if p.index[at] == nil {
			q := p.free()
			q.at, q.size, q.asked, p.index[at] = at, pageSize, true, q
		}
	}
}

// Reread drops the contents, and reads in few calls the pages used since the last Reset or Reread. read is
// [Gatherer.ReadParts]; nil is Reset.
func (p *Pages) Reread(source Reader, read func([]frames.Region) int) {
	p.parts = p.parts[:0]
	asked := 0
	for i, q := range p.pages[:p.used] {
		if q.asked && q.size == pageSize {
			p.pages[i], p.pages[asked] = p.pages[asked], q
			p.parts = append(p.parts, frames.Region{Addr: q.at, Bytes: q.b[:]})
			asked++
		}
	}
	p.Reset(source)
	for read != nil && p.used < asked {
		parts := p.parts[p.used:min(asked, p.used+procmem.MaxParts)]
		n := max(read(parts), 0)
		for _, q := range p.pages[p.used:][:n] {
			q.asked, p.index[q.at] = false, q
		}
		if p.used += n; n < len(parts) { // the next is not readable: the last takes its turn
			asked--
			p.parts[p.used] = p.parts[asked]
			p.pages[p.used], p.pages[asked] = p.pages[asked], p.pages[p.used]
		}
	}
}

// Read returns the number of bytes.
func (p *Pages) Read(addr uint64, b []byte) (done int) {
	for done < len(b) && p.source != nil {
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

// Word reads the word at addr.
func (p *Pages) Word(addr uint64) (uint64, bool) {
	var b [8]byte // else allocated
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
		q.at, q.size = at, max(p.source.Read(at, q.b[:]), 0)
	}
	p.last, q.asked = q, true
	return q
}

func (p *Pages) free() *page {
	if p.index == nil {
		p.index = map[uint64]*page{}
	}
	if p.used == maxPages { // in turn
		q := p.pages[p.Dropped%maxPages]
		delete(p.index, q.at)
		p.Dropped++
		return q
	}
	if p.used == len(p.pages) {
		p.pages = append(p.pages, new(page))
	}
	p.used++
	return p.pages[p.used-1]
}
