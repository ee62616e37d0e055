// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"testing"

	"prywalk/frames"
	"prywalk/internal/host/procmem"
)

// words is memory in which each word below end has its own address.
type words struct {
	end   uint64
	reads int
}

func (w *words) Read(addr uint64, b []byte) (n int) {
	w.reads++
	for n < len(b) && addr+uint64(n) < w.end {
		at := addr + uint64(n)
		b[n] = byte(at &^ 7 >> (8 * (at % 8)))
		n++
	}
	return n
}

func TestPagesAreReadOnce(t *testing.T) {
	m := &words{end: 3*maxPages*pageSize - 12}
	var p Pages
	if _, ok := p.Word(8); ok {
		t.Error("a cache of nothing has a word")
	}
	p.Reset(m)
	for range 2 {
		for at := uint64(0); at < 8*pageSize; at += 64 {
			if v, ok := p.Word(at); !ok || v != at {
				t.Fatalf("%#x: %#x, %v", at, v, ok)
			}
		}
	}
	if m.reads != 8 {
		t.Errorf("8 pages took %d reads", m.reads)
	}
	for at := uint64(0); at < m.end-8; at += pageSize {
		if v, ok := p.Word(at); !ok || v != at {
			t.Fatalf("%#x, of more than are kept: %#x, %v", at, v, ok)
		}
	}
	if _, ok := p.Word(m.end - 4); ok {
		t.Error("a word beyond the end is read")
	}
	b := make([]byte, 3*pageSize)
	if n := p.Read(m.end-pageSize, b); n != pageSize || b[0] != byte((m.end-pageSize)&^7>>(8*((m.end-pageSize)%8))) {
		t.Errorf("%d bytes before the end", n)
	}
	m.reads = 0
	if p.Reset(m); m.reads != 0 {
		t.Error("an empty cache has read")
	}
	if p.Word(8); m.reads != 1 {
		t.Errorf("%d reads after a reset", m.reads)
	}
}

func TestFullCacheOfPagesDropsOne(t *testing.T) {
	m := &words{end: 2 * maxPages * pageSize}
	var p Pages
	p.Reset(m)
	read := func(from, to uint64) (reads int) {
		m.reads = 0
		for at := from * pageSize; at < to*pageSize; at += pageSize {
			if v, ok := p.Word(at); !ok || v != at {
				t.Fatalf("%#x: %#x, %v", at, v, ok)
			}
		}
		return m.reads
	}
	if n := read(0, maxPages+1); n != maxPages+1 || p.Dropped != 1 {
		t.Errorf("%d reads, %d drops", n, p.Dropped)
	}
	if n := read(1, maxPages+1); n != 0 {
		t.Errorf("%d pages are read again", n)
	}
	if n := read(0, 1); n != 1 || p.Dropped != 2 {
		t.Errorf("the dropped page: %d reads, %d drops", n, p.Dropped)
	}
}

func TestPagesOfTheLastQueryAreReadInOneCall(t *testing.T) {
	m := &words{end: 10*pageSize - 12}
	calls, asked, failAt := 0, 0, uint64(0)
	together := func(parts []frames.Region) (n int) {
		calls, asked = calls+1, len(parts)
		for _, q := range parts {
			if q.Addr == failAt || m.Read(q.Addr, q.Bytes) != len(q.Bytes) {
				return n
			}
			n++
		}
		return n
	}
	query := func(p *Pages, pages ...uint64) {
		for _, at := range pages {
			if v, ok := p.Word(at*pageSize + 16); !ok || v != at*pageSize+16 {
				t.Errorf("page %d: %#x, %v", at, v, ok)
			}
		}
	}
	var p Pages
	p.Reset(m)
	query(&p, 1, 2, 3)
	for _, c := range []struct {
		fail         uint64
		pages        []uint64
		asked, reads int // pages of the one call, and reads besides
	}{
		{0, []uint64{1, 2, 3}, 3, 0}, {0, []uint64{2, 3, 4}, 3, 1}, {0, []uint64{4, 3}, 3, 0}, {0, []uint64{3}, 2, 0},
		{3 * pageSize, []uint64{3, 5}, 1, 2}, {0, []uint64{3, 9}, 2, 1},
		{0, []uint64{3}, 1, 0}, // page 9 is no whole one
	} {
		calls, failAt = 0, c.fail
		p.Reread(m, together)
		m.reads = 0
		query(&p, c.pages...)
		if calls != 1 || asked != c.asked || m.reads != c.reads {
			t.Errorf("%v: %d calls, the last for %d pages, and %d reads; want one, for %d, and %d", c.pages, calls, asked,
				m.reads, c.asked, c.reads)
		}
	}
	m.reads = 0
	p.Reread(m, nil)
	if query(&p, 3); m.reads != 1 {
		t.Errorf("without a reader of parts: %d reads", m.reads)
	}
	m.end = 2 * procmem.MaxParts * pageSize
	var many []uint64
	for at := range uint64(procmem.MaxParts + 8) {
		many = append(many, at)
	}
	query(&p, many...)
	for _, c := range []struct {
		fail         uint64
		calls, reads int
	}{{m.end, 2, 0}, {(procmem.MaxParts + 3) * pageSize, 3, 1}, {0, 3, 1}, {m.end, 2, 0}} {
		calls, failAt = 0, c.fail
		p.Reread(m, together)
		m.reads = 0
		if query(&p, many...); calls != c.calls || m.reads != c.reads {
			t.Errorf("page %#x is not readable: %d calls and %d reads, want %d and %d", c.fail, calls, m.reads, c.calls,
				c.reads)
		}
	}
}

func TestExpectedPagesAreReadTogether(t *testing.T) {
	m := &words{end: 3 * maxPages * pageSize}
	calls, got := 0, 0
	together := func(parts []frames.Region) int {
		calls++
		got += len(parts)
		for _, q := range parts {
			m.Read(q.Addr, q.Bytes)
		}
		return len(parts)
	}
	var p Pages
	for _, c := range []struct{ from, to, calls, pages int }{
		{16, 40*pageSize - 8, 2, 40}, {pageSize - 1, pageSize + 1, 1, 2},
		{0, 2 * maxPages * pageSize, maxPages / procmem.MaxParts, maxPages},
	} {
		p.Reset(m)
		calls, got = 0, 0
		dropped := p.Dropped
		p.Expect(uint64(c.from), uint64(c.to))
		p.Reread(m, together)
		if calls != c.calls || got != c.pages || p.Dropped != dropped {
			t.Errorf("%#x to %#x: %d pages in %d calls, %d drops; want %d in %d", c.from, c.to, got, calls,
				p.Dropped-dropped, c.pages, c.calls)
		}
		m.reads = 0
		if v, ok := p.Word(pageSize); !ok || v != pageSize || m.reads != 0 {
			t.Errorf("%#x, %v, %d reads", v, ok, m.reads)
		}
	}
}
