// SPDX-License-Identifier: Apache-2.0

package profile

// # Final names
//
// Each write of a recording names all locations. Names of files without running processes, and of ended processes'
// code, are final: kept at 4 bytes a location, so that files' tables can be dropped.

type settled struct {
	loc   int
	names []Frame
}

func (b *Builder) settle(final []settled) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, f := range final {
		b.tables.settle(f.loc, f.names)
	}
}

func (t *tables) settle(loc int, names []Frame) {
	if loc >= len(t.settled) {
		t.settled = append(t.settled, make([]DescriptionID, len(t.locs)-len(t.settled))...)
	}
	t.settled[loc] = t.describe(names)
}
