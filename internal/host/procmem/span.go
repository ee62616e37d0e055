// SPDX-License-Identifier: Apache-2.0

package procmem

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
