package procmem

// # Pages of its own
//
// A static variable lies in a file's mapping. Once it is written to, its page is the process's own copy, and as safe to
// read as anonymous memory: until the process gives it up, or it is swapped out. Locks are such variables, and each is
// read again and again. So the kernel is asked about such a page only once between two readings of the mappings, which
// tell of swap, too. Pages that are still the file's can be evicted, and those of shared memory be taken away by
// another process: about these it is asked each time.

// ownPages remembers some of these pages. It belongs to whoever looks.
type ownPages struct {
	pages [8]uint64
	end   uint8
	told  uint64 // when the mappings had been told so often
}

// knows reports whether a short range lies in pages that are known to be the process's own.
func (m *Memory) knows(addr uint64, n int, kind Kind) bool {
	if kind != OfFile || uint64(n) > pageSize || m.swapped.Load() || m.own.told != m.told.Load() {
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
	m.own.pages[m.own.end%uint8(len(m.own.pages))] = page
	m.own.end++
}
