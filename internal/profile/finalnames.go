// SPDX-License-Identifier: Apache-2.0

package profile

// finalName is the names of a location whose module no live process has. Resolvers can drop the files' tables.
type finalName struct {
	loc   int
	names []Frame
}

func (b *Builder) keepFinal(final []finalName, evictions int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.evicted != evictions {
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
