// SPDX-License-Identifier: Apache-2.0

package profile

// # Final names
//
// Each write of a recording names all locations. Names of files without running processes, and of ended processes'
// code, are final: kept at 4 bytes a location, so that files' tables can be dropped.

type finalName struct {
	loc   int
	names []Frame
}

func (b *Builder) keepFinal(final []finalName) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, f := range final {
		b.tables.keepFinal(f.loc, f.names)
	}
}

func (t *tables) keepFinal(loc int, names []Frame) {
	if loc >= len(t.finalNames) {
		t.finalNames = append(t.finalNames, make([]DescriptionID, len(t.locs)-len(t.finalNames))...)
	}
	t.finalNames[loc] = t.describe(names)
}
