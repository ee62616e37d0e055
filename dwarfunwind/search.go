// SPDX-License-Identifier: Apache-2.0

package dwarfunwind

import (
	"cmp"
	"encoding/binary"
	"iter"
	"slices"
	"sort"

	"prywalk/internal/base/wire"
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

func (t *Table) findIndexed(s *frameSection, pc uint64) (fde, bool) {
	ix := &s.index
	if !ix.built {
		ix.build(t, s)
	}
	end := sort.Search(len(ix.entries), func(i int) bool { return ix.entries[i].start > pc })
	first := sort.Search(end, func(i int) bool { return ix.entries[i].start == ix.entries[end-1].start })
	for _, e := range ix.entries[first:min(end, first+maxSameStart)] {
		if f, ok := t.fdeAt(s, e.off); ok && f.contains(pc) {
			return f, true
		}
	}
	return fde{}, false
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
		off, ok := uint64(0), s.section.present()
		for n := 0; ok && n < maxEntries; n++ {
			e := s.entryAt(off)
			if f, usable := t.decodeFDE(s, &e); usable && !yield(&f) {
				return
			}
			off, ok = e.nextOffset(s)
		}
	}
}

// searchTable is the table of .eh_frame_hdr (LSB 5.0 §10.7): sorted pairs of a function's address and its FDE's, as
// 32-bit numbers relative to the section, the encoding that linkers write and libgcc reads.
type searchTable struct {
	sec   Section
	first uint64 // offset of the first pair
	count uint64 // 0 if the table is unusable, or in another encoding
}

const (
	hdrVersion = 1
	hdrCommon  = peDataRel | peSData4
	pairSize   = 8 // bytes
)

func openSearchTable(sec Section) (h searchTable) {
	if !sec.present() {
		return h
	}
	c := cursor{wire.Cursor{Bytes: sec.viewAt(0)}}
	version, ptrEnc, countEnc, enc := c.U8(), c.U8(), c.U8(), c.U8()
	if version != hdrVersion || countEnc == peOmit || enc != hdrCommon {
		return h
	}
	if ptrEnc != peOmit {
		c.skipPointer(ptrEnc, sec.Addr)
	}
	n := c.readPointer(countEnc, sec.Addr)
	if c.Bad {
		return h
	}
	first := uint64(c.Pos)
	return searchTable{sec: sec, first: first, count: min(n, (sec.Size-first)/pairSize)}
}

// pairAt returns the start, relative to the section, and the FDE's address; false if unreadable.
func (t *searchTable) pairAt(i uint64) (start int64, addr uint64, ok bool) {
	b := t.sec.view(t.first+i*pairSize, pairSize)
	if b == nil {
		return 0, 0, false
	}
	return relative(b), t.sec.Addr + uint64(relative(b[4:])), true
}

// find returns the FDE, by address and index, whose code starts last at or before pc.
func (t *searchTable) find(pc uint64) (addr, i uint64, ok bool) {
	key := int64(pc - t.sec.Addr)
	lo, hi := uint64(0), t.count // pairs below lo start at or before pc, those from hi on behind it
	for hi-lo > viewSize/pairSize {
		mid := (lo + hi) / 2
		start, _, intact := t.pairAt(mid)
		switch {
		case !intact:
			return 0, 0, false
		case start <= key:
			lo = mid + 1
		default:
			hi = mid
		}
	}
	lo = max(lo, 1) - 1 // the pair before may be the one
	pairs := t.sec.view(t.first+lo*pairSize, int(hi-lo)*pairSize)
	n := sort.Search(len(pairs)/pairSize, func(i int) bool { return relative(pairs[i*pairSize:]) > key })
	if n == 0 {
		return 0, 0, false
	}
	return t.sec.Addr + uint64(relative(pairs[n*pairSize-4:])), lo + uint64(n) - 1, true
}

func relative(b []byte) int64 { return int64(int32(binary.LittleEndian.Uint32(b))) }
