// SPDX-License-Identifier: Apache-2.0

package dwarfunwind

import (
	"encoding/binary"

	"prywalk/internal/wire"
)

// hdrTable is the search table of .eh_frame_hdr (LSB 5.0 §10.7): sorted pairs of a function's address and its FDE's,
// as 32-bit numbers relative to the start of the section. That is what linkers write, and what libgcc reads.
type hdrTable struct {
	sec   Section
	first uint64 // offset of the first pair in the section
	count uint64 // pairs; 0 if the table is unusable, or in another encoding
}

const (
	hdrVersion = 1
	hdrCommon  = peDataRel | peSData4
	pairSize   = 8 // bytes
	// hdrLocal is the size in bytes of the range that is bisected in one view.
	hdrLocal = easyView
)

func openHdr(sec Section) (h hdrTable) {
	if !sec.present() {
		return h
	}
	c := cursor{wire.Cursor{Bytes: sec.head(0)}}
	version, ptrEnc, countEnc, enc := c.U8(), c.U8(), c.U8(), c.U8()
	if version != hdrVersion || countEnc == peOmit || enc != hdrCommon {
		return h
	}
	if ptrEnc != peOmit {
		c.skipPointer(ptrEnc, 8, sec.Addr)
	}
	n := c.pointer(countEnc, 8, sec.Addr, &bases{data: sec.Addr})
	if c.Bad {
		return h
	}
	first := uint64(c.Pos)
	return hdrTable{sec: sec, first: first, count: min(n, (sec.Size-first)/pairSize)}
}

// entry returns the address of the FDE of pair i.
func (h *hdrTable) entry(i uint64) (addr uint64, ok bool) {
	b := h.sec.view(h.first+i*pairSize, pairSize)
	if b == nil {
		return 0, false
	}
	return h.sec.Addr + uint64(word(b[4:])), true
}

// find returns the address of the FDE whose code starts last before pc, and its index.
func (h *hdrTable) find(pc uint64) (addr, i uint64, ok bool) {
	key := int64(pc - h.sec.Addr)
	lo, hi := uint64(0), h.count
	for (hi-lo)*8 > hdrLocal {
		mid := lo + (hi-lo)/2
		// All pairs in view around the middle are searched at once.
		from, b := h.around(mid, lo, hi)
		n := uint64(len(b) / 8)
		switch {
		case n == 0:
			return 0, 0, false
		case word(b) > key:
			hi = from
		case from+n < hi && word(b[(n-1)*8:]) <= key:
			lo = from + n - 1
		default:
			addr, i = h.last(b, key)
			return addr, from + i, true
		}
	}
	b := h.sec.view(h.first+lo*8, int(hi-lo)*8)
	if len(b) < 8 || word(b) > key {
		return 0, 0, false
	}
	addr, i = h.last(b, key)
	return addr, lo + i, true
}

// around returns at least one pair around index i, within lo and hi, without a copy, and the index of the first.
func (h *hdrTable) around(i, lo, hi uint64) (from uint64, b []byte) {
	w, ok := h.sec.Data.(BlockViewer)
	if !ok {
		return i, h.sec.view(h.first+i*8, 8)
	}
	at, b := w.Around(h.first+i*8, 8)
	if len(b) < 8 {
		return i, nil
	}
	start, end := h.first+lo*8, h.first+hi*8
	if at < start {
		b = b[start-at:]
	} else {
		skip := (at-start+7)&^7 - (at - start)
		start, b = at+skip, b[skip:]
	}
	return (start - h.first) / 8, b[:min(uint64(len(b)), end-start)&^7]
}

// last returns the last pair whose key is not greater than key. Precondition: that of the first pair is not. It
// branches, so that the processor reads ahead along the predicted half.
func (h *hdrTable) last(b []byte, key int64) (addr, i uint64) {
	l, n := 0, len(b)/8
	for n > 1 {
		half := n / 2
		if word(b[(l+half)*8:]) <= key {
			l += half
		}
		n -= half
	}
	return h.sec.Addr + uint64(word(b[l*8+4:])), uint64(l)
}

func word(b []byte) int64 { return int64(int32(binary.LittleEndian.Uint32(b))) }
