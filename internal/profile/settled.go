// SPDX-License-Identifier: Apache-2.0

package profile

// # Names that are known for good
//
// A recording is written again and again, and each time every location is named. Of what no process runs any more,
// and of code made by processes that have ended, the names cannot change. They are kept, 4 bytes a location beside
// the functions, so that files' tables need not be kept for them.

// settled is what a [Settler] has said of a location.
type settled struct {
	loc   int
	names []Frame
}

// settle keeps what was said for good.
func (b *Builder) settle(final []settled) {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := &b.tables
	for _, f := range final {
		if f.loc >= len(t.settled) {
			t.settled = append(t.settled, make([]DescriptionID, len(t.locs)-len(t.settled))...)
		}
		t.settled[f.loc] = t.describe(f.names)
	}
}
