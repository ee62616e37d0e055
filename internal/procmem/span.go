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
	if t := m.table.Load(); t != m.recentOf {
		m.recent, m.recentOf = [len(m.recent)]Span{}, t
	}
	for i := range m.recent {
		if s := &m.recent[i]; addr-s.Start < s.End-s.Start {
			*out = *s
			return true
		}
	}
	if m.ask(addr, out) {
		m.recent[m.recentEnd%uint8(len(m.recent))] = *out
		m.recentEnd++
		return true
	}
	if m.unanswered.Load() && next.Grows && next.Start > addr && next.Start-addr < mostGrowth {
		*out = Span{Start: addr &^ (pageSize - 1), End: next.End, Kind: Anonymous}
		return true
	}
	m.stale.Store(true)
	return false
}
