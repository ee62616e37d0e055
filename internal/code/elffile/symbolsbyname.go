// SPDX-License-Identifier: Apache-2.0

package elffile

import "bytes"

// EachNamed calls each for the symbols with one of these names (by index), in the file's order, until it returns false.
// Unreadable entries are skipped.
func (f *File) EachNamed(kind SymbolKind, names []string, each func(name int, s *Symbol) bool) {
	index, longest := make(map[string]int, len(names)), 0
	for i, name := range names {
		index[name], longest = i, max(longest, len(name))
	}
	defer f.HoldNames(kind)()
	w := f.names(kind)
	if w == nil {
		return
	}
	_ = f.EachSymbol(kind, func(s *Symbol) bool { // a damaged table: as far as readable
		off := min(uint64(s.NameOff), w.size)
		b, err := w.View(off, int(min(w.size-off, uint64(longest)+1))) // no more, as hostile names have no end
		if err != nil {
			return true
		}
		name, _, _ := bytes.Cut(b, []byte{0})
		i, ok := index[string(name)]
		return !ok || each(i, s)
	})
}

const maxHeldNames = 128 << 20 // bytes

// HoldNames has a table's names in memory until release, if there is room: symbols can be in the order of hashes, so
// that their names are all over the file.
func (f *File) HoldNames(kind SymbolKind) (release func()) {
	s := f.NameTable(kind)
	if s == nil || s.Size > maxHeldNames || !f.memory.TakeSpare(int64(s.Size)) {
		return func() {}
	}
	f.memory.Give(int64(s.Size)) // Data takes it
	data, err := f.Data(s)
	if err != nil {
		return func() {}
	}
	names := &f.symbols[kind&1]
	before := *names
	*names = symbolSource{tried: true, names: &Window{size: uint64(len(data)), whole: data}}
	return func() {
		*names = before
		f.Free(data)
	}
}
