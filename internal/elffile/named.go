// SPDX-License-Identifier: Apache-2.0

package elffile

import (
	"bytes"
	"slices"
)

// # Symbols of a name
//
// Most files have none of the names that they are asked for. That shows in the table of names, of which each page is
// looked at once and none is kept. Only if a name is there, the symbols are read.

const (
	// searchStep is how much of a table of names is searched at a time, in bytes, and mostPlaces how often a name may be
	// in it. Beyond that, each symbol's name is looked at.
	searchStep = 64 << 10
	mostPlaces = 1 << 10
)

// EachNamed calls each for the entries of a symbol table that have one of these names, in the file's order, until it
// gives false. The names are not empty, and shorter than 1 KiB. What cannot be read is left out.
func (f *File) EachNamed(kind SymbolKind, names []string, each func(name int, s *Symbol) bool) {
	t, _ := f.symbolTable(kind)
	if t.n <= 1 {
		return
	}
	is := func(s *Symbol) bool {
		got := f.PeekName(kind, s)
		i := slices.IndexFunc(names, func(name string) bool { return name == string(got) })
		return i < 0 || each(i, s)
	}
	w := f.names(kind)
	if w == nil {
		return
	}
	places, ok := w.placesOf(names)
	if !ok {
		places = nil
	} else if len(places) == 0 {
		return
	}
	_ = t.each(places, is) // what can be read of a damaged table
}

// placesOf gives where strings begin that are one of some names, sorted; false if there are too many, or that cannot
// be read. A linker lets a name begin within a longer one that ends with it.
func (w *Window) placesOf(names []string) (places []uint32, ok bool) {
	longest := 0
	for _, name := range names {
		longest = max(longest, len(name))
	}
	buf := make([]byte, searchStep+longest+1)
	for at := uint64(0); at < w.size; at += searchStep {
		n := min(w.size-at, uint64(len(buf)))
		b := buf[:n]
		if w.whole != nil {
			view, err := w.View(at, int(n))
			if err != nil {
				return nil, false
			}
			copy(b, view)
		} else if got, _ := w.r.ReadAt(b, int64(w.off+at)); uint64(got) < n {
			return nil, false
		}
		if at+n == w.size && n < uint64(len(buf)) { // the table's end is a string's
			b = append(b, 0)
		}
		for _, name := range names {
			want := append([]byte(name), 0)
			for from := 0; ; {
				i := bytes.Index(b[from:], want)
				if i < 0 || from+i >= searchStep {
					break
				}
				if from += i; len(places) == mostPlaces || at+uint64(from) > 1<<32-1 {
					return nil, false
				}
				places = append(places, uint32(at)+uint32(from))
				from++
			}
		}
	}
	slices.Sort(places)
	return places, true
}
