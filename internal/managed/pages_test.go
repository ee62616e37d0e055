// SPDX-License-Identifier: Apache-2.0

package managed

import "testing"

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
