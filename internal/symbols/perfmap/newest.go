// SPDX-License-Identifier: Apache-2.0

package perfmap

import "slices"

const dropped = -1

// keepNewest drops the lines that hold at no address any more, and of the others the oldest, beyond half of all. An
// address of a dropped line has no name: a later line at the address would hold there.
func (m *Map) keepNewest() {
	m.index()
	m.newIndexes = slices.Grow(m.newIndexes[:0], len(m.entries))[:len(m.entries)]
	for i := range m.newIndexes {
		m.newIndexes[i] = dropped
	}
	count := 0
	for _, s := range m.segments {
		if s.entry >= 0 && m.newIndexes[s.entry] == dropped {
			m.newIndexes[s.entry] = 0
			count++
		}
	}
	excess := max(0, count-len(m.entries)/2)
	if excess > 0 && m.memory != nil {
		_ = m.memory.Take(m.memory.Left()+1, "older functions") // reports it
	}
	m.dropEntries(excess)
	for i := range m.segments {
		if s := &m.segments[i]; s.entry >= 0 {
			s.entry = m.newIndexes[s.entry]
		}
	}
	m.indexed = len(m.entries)
}

// dropEntries drops those without a new index and the oldest of the others, and sets the new indexes. Names are moved
// in place: none gets to a later chunk, or to a later place of its chunk.
func (m *Map) dropEntries(oldest int) {
	was, chunks := m.entries, m.names
	m.entries, m.names = was[:0], chunks[:0]
	for i, e := range was {
		if m.newIndexes[i] == dropped {
			continue
		}
		if oldest > 0 {
			m.newIndexes[i] = dropped
			oldest--
			continue
		}
		m.newIndexes[i] = int32(len(m.entries))
		at := e.name & (nameChunk - 1)
		m.appendEntry(e, chunks[e.name>>nameBits][at:at+e.nameLen])
	}
	m.room += int64(len(was)-len(m.entries)) * entryCost
}
