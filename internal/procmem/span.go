// SPDX-License-Identifier: Apache-2.0

package procmem

import "slices"

// find finds the mapping that an address lies in among those that are known.
//
//go:nosplit
func (m *Memory) find(addr uint64, out *Span) bool {
	t := m.table.Load()
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

// mostGuard is the largest guard below a stack: its mapping is as unreadable as reserved memory, but stays so.
const mostGuard = 64 << 10

// look is find for whoever wants so many bytes, and asks the kernel where what is known does not do. It asks so of
// a mapping that is not known, is not readable, or ends before and can have grown. What is known can be two seconds
// old, and reserved memory becomes readable piece by piece (Go's arenas, those of malloc). Next to it an answer is
// soon too old as well.
//
//go:nosplit
func (m *Memory) look(addr, want uint64, out *Span) bool {
	known := m.find(addr, out)
	if known && out.Kind != NotMemory && (out.End-addr >= want || m.behind(out) == fixed) {
		return true
	}
	table := *out // if it is not known, what begins above it
	if m.answered(addr, out) && out.Kind != NotMemory && (out.End-addr >= want || m.behind(out) != reserved) {
		return true
	}
	if m.ask(m.by(), addr, out) {
		m.keep(out)
		return true
	}
	*out = table
	if known {
		return true
	}
	if m.relayed.late {
		return false // there was no answer
	}
	if m.unanswered.Load() && table.Grows && table.Start > addr && table.Start-addr < mostGrowth {
		*out = Span{Start: addr &^ (pageSize - 1), End: table.End, Kind: Anonymous}
		return true
	}
	m.stale.Store(true)
	return false
}

// neighbour is what lies behind a mapping, by the table.
type neighbour uint8

const (
	nothing  neighbour = iota
	reserved           // memory that is not readable yet
	fixed              // what a mapping does not grow into
)

// behind tells what a mapping could have grown into by now.
//
//go:nosplit
func (m *Memory) behind(s *Span) neighbour {
	var next Span
	switch {
	case !m.find(s.End, &next):
		return nothing
	case next.Kind == NotMemory && next.End-next.Start > mostGuard:
		return reserved
	}
	return fixed
}

// answered gives what the kernel has answered of an address, since the table is what it is.
//
//go:nosplit
func (m *Memory) answered(addr uint64, out *Span) bool {
	if t := m.table.Load(); t != m.recentOf {
		m.recent, m.recentOf = [len(m.recent)]Span{}, t
	}
	for i := range m.recent {
		if s := &m.recent[i]; addr-s.Start < s.End-s.Start {
			*out = *s
			return true
		}
	}
	return false
}

// keep remembers an answer, the latest first.
//
//go:nosplit
func (m *Memory) keep(s *Span) {
	for i := range m.recent {
		if old := &m.recent[i]; old.Start < s.End && s.Start < old.End {
			*old = *s
			return
		}
	}
	m.recent[m.recentEnd%uint8(len(m.recent))] = *s
	m.recentEnd++
}

// # Pages of its own
//
// A static variable lies in a file's mapping. Once it is written to, its page is the process's own copy, and as
// safe to read as anonymous memory. That holds until the process gives it up, or it is swapped out. Locks are such
// variables, and each is read again and again. So the kernel is asked about such a page only once between two
// readings of the mappings, which tell of swap, too; in a stop each time. Pages that are still the file's can be
// evicted, and those of shared memory be taken away by another process: about these it is always asked.

// ownPages remembers some of these pages. It belongs to whoever looks.
type ownPages struct {
	pages [8]uint64
	end   uint8
	told  uint64 // when the mappings had been told so often
}

// knows reports whether a short range lies in pages that are known to be the process's own.
func (m *Memory) knows(addr uint64, n int) bool {
	if uint64(n) > pageSize || m.swapped.Load() || m.own.told != m.told.Load() {
		return false
	}
	for page := addr &^ (pageSize - 1); page < addr+uint64(n); page += pageSize {
		if !m.own.has(page) {
			return false
		}
	}
	return true
}

// has reports whether a page is remembered.
func (o *ownPages) has(page uint64) bool {
	for _, p := range o.pages {
		if p == page {
			return page != 0
		}
	}
	return false
}

// note takes note of the entry of a page in the pagemap.
func (m *Memory) note(page, entry uint64, kind Kind) {
	if kind != OfFile || entry&pagePresent == 0 || entry&pageOfFile != 0 {
		return
	}
	if told := m.told.Load(); m.own.told != told {
		m.own = ownPages{told: told}
	}
	if m.own.has(page) {
		return
	}
	m.own.pages[m.own.end%uint8(len(m.own.pages))] = page
	m.own.end++
}

// # Asked before the stop
//
// What a stop is going to copy of such a page is mostly known before. Then the kernel is asked about it straight before
// the stop, and not in it.

// foreseen is a place that was asked about before a stop.
type foreseen struct {
	addr, n uint64
	until   int64 // the answer counts, CLOCK_MONOTONIC ns
}

// foreseenFor is how long the answer counts, in nanoseconds. A thread that is queued for a processor stops later.
const foreseenFor = 2e6

// Foresee asks whether a short range of a file's mapping lies in pages of the process's own, which are there. A
// [Memory.Copy] of that range that follows soon does not ask again. It is for whoever is about to stop a thread.
func (m *Memory) Foresee(addr uint64, n int) {
	var s Span
	m.foreseen = foreseen{}
	if uint64(n) <= pageSize && m.look(addr, uint64(n), &s) && s.Kind == OfFile && !m.swapped.Load() &&
		m.there(m.by(), addr, n, OfFile) == n && m.knows(addr, n) {
		m.foreseen = foreseen{addr, uint64(n), Now() + foreseenFor}
	}
}

// has reports whether a range was asked about lately.
func (f *foreseen) has(addr, n uint64) bool {
	return f.until != 0 && addr >= f.addr && addr-f.addr <= f.n && n <= f.n-(addr-f.addr) && Now() < f.until
}

// MostPlaces is how many places [Memory.ForeseePlaces] asks about.
const MostPlaces = 62

// ForeseePlaces asks which of some short places lie in anonymous memory that is there, so that nobody who reads them
// waits. there has one answer for each, and the answers count until the moment that is given (CLOCK_MONOTONIC, ns);
// 0: none does. It is for whoever is about to stop a thread. Places beyond the first [MostPlaces] are not asked about.
func (m *Memory) ForeseePlaces(places []uint64, size uint64, there []bool) (until int64) {
	clear(there)
	fd := m.pagemap.get()
	if fd < 0 || m.Relayed() || m.swapped.Load() || size == 0 || size > pageSize {
		return 0
	}
	var pages [2 * MostPlaces]uint64
	n, known := 0, places[:min(len(places), MostPlaces)]
	var in Span
	for _, at := range known {
		if off := at - in.Start; off >= in.End-in.Start || in.End-at < size {
			if !m.look(at, size, &in) || in.End-at < size {
				in = Span{}
				continue
			}
		}
		if in.Kind == Anonymous {
			n = addPage(&pages, n, at&^(pageSize-1))
			n = addPage(&pages, n, (at+size-1)&^(pageSize-1))
		}
	}
	n = presentPages(fd, pages[:n])
	for i, at := range known {
		_, first := slices.BinarySearch(pages[:n], at&^(pageSize-1))
		_, last := slices.BinarySearch(pages[:n], (at+size-1)&^(pageSize-1))
		there[i] = first && last
	}
	if n == 0 {
		return 0
	}
	return Now() + foreseenFor
}

// addPage adds a page to n sorted ones, if it is not among them, and gives how many there are then.
func addPage(pages *[2 * MostPlaces]uint64, n int, page uint64) int {
	i, known := slices.BinarySearch(pages[:n], page)
	if known {
		return n
	}
	copy(pages[i+1:n+1], pages[i:n])
	pages[i] = page
	return n + 1
}

// presentPages keeps those of some sorted pages that are there, and gives how many these are. Neighbours are asked
// about together.
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
			if off+8 <= uint64(got) && le64(entries[off:])&(pagePresent|pageSwapped) == pagePresent {
				pages[n] = pages[i]
				n++
			}
		}
	}
	return n
}
