// SPDX-License-Identifier: Apache-2.0

package profile

// finalName is the names of a location whose module no live process has. Resolvers can drop the files' tables.
type finalName struct {
	loc   int
	names []Frame
}

// noteEncoded keeps final names, unless an eviction has renumbered their locations, and what the write lacks.
func (b *Builder) noteEncoded(v *frozenTables, final []finalName) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lost = v.lost
	if b.evicted != v.evictions {
		return
	}
	for _, f := range final {
		b.tables.keepFinal(f.loc, f.names)
	}
}

func (t *tables) keepFinal(loc int, names []Frame) {
	if loc >= len(t.finalNames) {
		t.finalNames = append(t.finalNames, make([]FramesID, len(t.locs)-len(t.finalNames))...)
	}
	t.finalNames[loc] = t.internFrames(names)
}
