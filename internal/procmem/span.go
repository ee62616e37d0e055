// SPDX-License-Identifier: Apache-2.0

package procmem

import "slices"

// findSpan returns the span of a sorted table that has addr, or the next one, and reports whether it has addr.
//
//go:nosplit
func findSpan(t *[]Span, addr uint64, out *Span) bool {
	if t == nil {
		return false
	}
	spans := *t
	lo, hi := 0, len(spans)
	for lo < hi {
		if mid := int(uint(lo+hi) >> 1); spans[mid].End > addr {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	if lo == len(spans) {
		return false
	}
	*out = spans[lo]
	return out.Start <= addr
}

// maxStackGuard, bytes: guards below stacks stay unreadable.
const maxStackGuard = 64 << 10

// lookup returns addr's mapping, of which want bytes are to be read. If the table, perhaps 2 s old, has no readable
// mapping, or one that may have grown, the kernel is asked.
//
//go:nosplit
func (m *Memory) lookup(addr, want uint64, out *Span) bool {
	t := m.table.Load()
	known := findSpan(t, addr, out)
	if known && out.Kind != NotMemory && (out.End-addr >= want || neighbourAfter(t, out) == cannotGrow) {
		return true
	}
	table := *out
	if m.recent.find(t, addr, out) && out.Kind != NotMemory &&
		(out.End-addr >= want || neighbourAfter(t, out) != reserved) {
		return true
	}
	if m.query(m.reader(), addr, out) {
		m.recent.add(out)
		return true
	}
	*out = table
	if known {
		return true
	}
	if m.threadReads.timedOut {
		return false
	}
	if m.noQueries.Load() && table.Grows && table.Start > addr && table.Start-addr < MaxStackGrowth {
		*out = Span{Start: addr &^ (pageSize - 1), End: table.End, Kind: Anonymous}
		return true
	}
	return false
}

type neighbour uint8

const (
	mayGrow  neighbour = iota
	reserved           // may become readable piece by piece (Go, malloc)
	cannotGrow
)

//go:nosplit
func neighbourAfter(t *[]Span, s *Span) neighbour {
	var next Span
	switch {
	case !findSpan(t, s.End, &next):
		return mayGrow
	case next.Kind == NotMemory && next.End-next.Start > maxStackGuard:
		return reserved
	}
	return cannotGrow
}

type recentSpans struct {
	spans [8]Span
	table *[]Span
	end   uint8
}

//go:nosplit
func (r *recentSpans) find(t *[]Span, addr uint64, out *Span) bool {
	if t != r.table {
		r.spans, r.table = [len(r.spans)]Span{}, t
	}
	for i := range r.spans {
		if s := &r.spans[i]; addr-s.Start < s.End-s.Start {
			*out = *s
			return true
		}
	}
	return false
}

//go:nosplit
func (r *recentSpans) add(s *Span) {
	for i := range r.spans {
		if old := &r.spans[i]; old.Start < s.End && s.Start < old.End {
			*old = *s
			return
		}
	}
	r.spans[r.end%uint8(len(r.spans))] = *s
	r.end++
}

const checkedFor = 2e6 // ns

// MaxPlaces bounds the places of [Memory.CheckPlaces]: package ptrace reads at most 64 parts.
const MaxPlaces = 62

// CheckPlaces checks before a stop which of at most [MaxPlaces] places, of size bytes each, are in present anonymous
// memory. It returns until when that holds (CLOCK_MONOTONIC, ns); 0: none is, or it cannot be known.
func (m *Memory) CheckPlaces(places []uint64, size uint64, present []bool) (until int64) {
	clear(present)
	fd := m.pagemap.fd()
	if fd < 0 || m.UsesSyscallThreads() || m.swapped.Load() || size == 0 || size > pageSize {
		return 0
	}
	var buf [2 * MaxPlaces]uint64
	pages, known := buf[:0], places[:min(len(places), MaxPlaces)]
	var in Span
	for _, place := range known {
		if off := place - in.Start; off >= in.End-in.Start || in.End-place < size {
			if !m.lookup(place, size, &in) || in.End-place < size {
				in = Span{}
				continue
			}
		}
		if in.Kind == Anonymous {
			for _, page := range pagesOf(place, size) {
				if i, added := slices.BinarySearch(pages, page); !added {
					pages = slices.Insert(pages, i, page)
				}
			}
		}
	}
	pages = pages[:presentPages(fd, pages)]
	for i, place := range known {
		at := pagesOf(place, size)
		_, first := slices.BinarySearch(pages, at[0])
		_, last := slices.BinarySearch(pages, at[1])
		present[i] = first && last
	}
	if len(pages) == 0 {
		return 0
	}
	return Now() + checkedFor
}

// pagesOf returns the first and last page of at most a page's bytes.
func pagesOf(place, size uint64) [2]uint64 {
	return [2]uint64{place &^ (pageSize - 1), (place + size - 1) &^ (pageSize - 1)}
}

func presentPages(fd int, pages []uint64) (n int) {
	const most = 64
	var entries [most * 8]byte
	for i := 0; i < len(pages); {
		from, j := pages[i], i+1
		for j < len(pages) && (pages[j]-from)/pageSize < most {
			j++
		}
		want := ((pages[j-1]-from)/pageSize + 1) * 8
		got, _ := pread(fd, entries[:want], from/pageSize*8)
		for ; i < j; i++ {
			off := (pages[i] - from) / pageSize * 8
			if off+8 <= uint64(got) && isPresentMemory(entries[off:]) {
				pages[n] = pages[i]
				n++
			}
		}
	}
	return n
}
