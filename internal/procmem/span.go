package procmem

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

// look is find for whoever wants so many bytes, and asks the kernel where what is known does not do: of a mapping that
// is not known, is not readable, or ends before and can have grown. What is known can be two seconds old, and reserved
// memory becomes readable piece by piece (Go's arenas).
//
//go:nosplit
func (m *Memory) look(addr, want uint64, out *Span) bool {
	known := m.find(addr, out)
	if known && out.Kind != NotMemory && (out.End-addr >= want || !m.canGrow(out)) {
		return true
	}
	table := *out // if it is not known, what begins above it
	if m.answered(addr, out) && out.Kind != NotMemory || m.askAndKeep(addr, out) {
		return true
	}
	*out = table
	if known {
		return true
	}
	if m.unanswered.Load() && table.Grows && table.Start > addr && table.Start-addr < mostGrowth {
		*out = Span{Start: addr &^ (pageSize - 1), End: table.End, Kind: Anonymous}
		return true
	}
	m.stale.Store(true)
	return false
}

// canGrow reports whether a mapping of the table can end later by now: nothing follows it, or reserved memory.
//
//go:nosplit
func (m *Memory) canGrow(s *Span) bool {
	var next Span
	return !m.find(s.End, &next) || next.Kind == NotMemory && next.End-next.Start > mostGuard
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

// askAndKeep asks the kernel, and remembers the answer.
//
//go:nosplit
func (m *Memory) askAndKeep(addr uint64, out *Span) bool {
	if !m.ask(addr, out) {
		return false
	}
	m.keep(out)
	return true
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
