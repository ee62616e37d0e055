// SPDX-License-Identifier: Apache-2.0

package dwarfunwind

import (
	"cmp"
	"iter"
	"slices"
)

// maxEntries bounds the entries of a section that are read one after the other, usable or not. Large browsers have
// fewer. An index has at most 64 MiB.
const maxEntries = 4 << 20

// maxSameStart bounds the FDEs with one start that are tried: more take time in hostile files.
const maxSameStart = 8

// index is a sorted list of a section's FDEs, built at its first use.
type index struct {
	built   bool
	entries []indexEntry
}

type indexEntry struct {
	start uint64
	off   uint64 // of the FDE in the section
}

func (ix *index) find(t *Table, s *frameSection, pc uint64) []indexEntry {
	if !ix.built {
		ix.build(t, s)
	}
	end, _ := slices.BinarySearchFunc(ix.entries, pc, func(e indexEntry, pc uint64) int {
		if e.start <= pc {
			return -1
		}
		return 1
	})
	if end == 0 {
		return nil
	}
	first, _ := slices.BinarySearchFunc(ix.entries, ix.entries[end-1].start, func(e indexEntry, start uint64) int {
		return cmp.Compare(e.start, start)
	})
	return ix.entries[first:min(end, first+maxSameStart)]
}

func (ix *index) build(t *Table, s *frameSection) {
	ix.built = true
	for f := range t.fdesOf(s) {
		if len(ix.entries) == cap(ix.entries) && !ix.grow(t.reserve) {
			break
		}
		ix.entries = append(ix.entries, indexEntry{f.start, f.off})
	}
	slices.SortStableFunc(ix.entries, func(a, b indexEntry) int {
		return cmp.Compare(a.start, b.start)
	})
}

const (
	indexEntrySize = 16 // bytes
	firstEntries   = 64
)

func (ix *index) grow(reserve func(bytes int64) bool) bool {
	more := max(firstEntries, min(len(ix.entries)/2, maxEntries-len(ix.entries)))
	if reserve != nil && !reserve(indexEntrySize*int64(more)) {
		return false
	}
	grown := make([]indexEntry, len(ix.entries), len(ix.entries)+more)
	copy(grown, ix.entries)
	ix.entries = grown
	return true
}

// fdesOf returns the section's usable FDEs, in file order.
func (t *Table) fdesOf(s *frameSection) iter.Seq[*fde] {
	return func(yield func(*fde) bool) {
		off, ok := uint64(0), s.present()
		for n := 0; ok && n < maxEntries; n++ {
			e := s.entryAt(off)
			if f, usable := t.decodeFDE(s, &e); usable && !yield(&f) {
				return
			}
			off, ok = e.nextOffset(s)
		}
	}
}
