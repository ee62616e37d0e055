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

// look is find, and asks the kernel for a mapping that is not known.
//
//go:nosplit
func (m *Memory) look(addr uint64, out *Span) bool {
	if m.find(addr, out) {
		return true
	}
	next := *out // what begins above it
	if m.answered(addr, out) || m.askAndKeep(addr, out) {
		return true
	}
	if m.unanswered.Load() && next.Grows && next.Start > addr && next.Start-addr < mostGrowth {
		*out = Span{Start: addr &^ (pageSize - 1), End: next.End, Kind: Anonymous}
		return true
	}
	m.stale.Store(true)
	return false
}

// renew asks the kernel for a mapping that is unreadable by what is known of it: memory that is reserved becomes
// readable piece by piece (Go's arenas), and what is known can be two seconds old. False if it is unreadable still.
//
//go:nosplit
func (m *Memory) renew(addr uint64, out *Span) bool {
	if m.answered(addr, out) && out.Kind != NotMemory {
		return true
	}
	return !m.unanswered.Load() && m.askAndKeep(addr, out) && out.Kind != NotMemory
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
