// SPDX-License-Identifier: Apache-2.0

package elffile

import (
	"bytes"
	"slices"
)

// # Symbols by name
//
// Most files have none of the names. The string table shows that without a look at the symbols.

const (
	// With more than maxOffsets occurrences of names, each symbol's name is compared.
	searchStep = 64 << 10
	maxOffsets = 1 << 10
)

// EachNamed calls each for the symbols with one of these names (by index), in the file's order, until it returns false.
// Precondition: names have 2 to 1023 bytes. Unreadable entries are skipped.
func (f *File) EachNamed(kind SymbolKind, names []string, each func(name int, s *Symbol) bool) {
	t, _ := f.symbolTable(kind)
	if t.entries <= 1 {
		return
	}
	eachMatch := func(s *Symbol) bool {
		got := f.NameBytes(kind, s)
		i := slices.IndexFunc(names, func(name string) bool { return name == string(got) })
		return i < 0 || each(i, s)
	}
	w := f.names(kind)
	if w == nil {
		return
	}
	places, ok := w.offsetsOf(names)
	if ok && len(places) == 0 {
		return
	}
	_ = t.each(places, eachMatch) // a damaged table: as far as readable
}

// offsetsOf returns the sorted offsets of names at the end of a string (linkers merge tails); false if there are too
// many, or on error.
func (w *Window) offsetsOf(names []string) (places []uint32, ok bool) {
	longest := 0
	for _, name := range names {
		longest = max(longest, len(name))
	}
	buf, ends := make([]byte, searchStep+longest+1), newSuffixIndex(names)
	for off := uint64(0); off < w.size; off += searchStep {
		b, ok := w.readStrings(buf, off)
		if !ok {
			return nil, false
		}
		if places, ok = ends.appendPlaces(places, b, off); !ok {
			return nil, false
		}
	}
	slices.Sort(places)
	return places, true
}

// readStrings reads at most len(buf) bytes of a string table. The table's end is a string's, too.
func (w *Window) readStrings(buf []byte, off uint64) (b []byte, ok bool) {
	n := min(w.size-off, uint64(len(buf)))
	b = buf[:n]
	if w.whole != nil {
		view, err := w.View(off, int(n))
		if err != nil {
			return nil, false
		}
		copy(b, view)
	} else if got, _ := w.r.ReadAt(b, int64(w.off+off)); uint64(got) < n {
		return nil, false
	}
	if off+n == w.size && n < uint64(len(buf)) {
		b = append(b, 0)
	}
	return b, true
}

// appendPlaces appends the offsets of names that begin within searchStep in b, which is at off in the table; false if
// there are too many.
func (i *suffixIndex) appendPlaces(places []uint32, b []byte, off uint64) ([]uint32, bool) {
	for end := 0; ; end++ {
		length := bytes.IndexByte(b[end:], 0)
		if length < 0 {
			return places, true
		}
		end += length
		if length == 0 {
			continue // holes have billions
		}
		for _, name := range i.namesAt(b[:end]) {
			from := end - len(name)
			if from < 0 || from >= searchStep || string(b[from:end]) != name {
				continue
			}
			if len(places) == maxOffsets || off+uint64(from) > 1<<32-1 {
				return nil, false
			}
			places = append(places, uint32(off)+uint32(from))
		}
	}
}

// suffixIndex has names by their last two bytes.
type suffixIndex struct {
	names  map[uint16][]string
	filter [1 << 16 / 64]uint64
}

func newSuffixIndex(names []string) *suffixIndex {
	e := &suffixIndex{names: map[uint16][]string{}}
	for _, name := range names {
		last := uint16(name[len(name)-2])<<8 | uint16(name[len(name)-1])
		e.names[last] = append(e.names[last], name)
		e.filter[last/64] |= 1 << (last % 64)
	}
	return e
}

// namesAt returns the names that text may end with.
func (i *suffixIndex) namesAt(text []byte) []string {
	n := len(text)
	if n < 2 {
		return nil
	}
	last := uint16(text[n-2])<<8 | uint16(text[n-1])
	if i.filter[last/64]&(1<<(last%64)) == 0 {
		return nil
	}
	return i.names[last]
}
