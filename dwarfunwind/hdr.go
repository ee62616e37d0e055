package dwarfunwind

import "encoding/binary"

// hdrTable is the search table of .eh_frame_hdr (LSB 5.0 §10.7): pairs of a
// function's address and its FDE's, sorted by the former.
type hdrTable struct {
	sec   Section
	first uint64 // offset of the table
	count uint64 // number of pairs; 0 if the table cannot be used
	enc   uint8
	size  uint8 // of one number
}

const (
	hdrVersion = 1
	// hdrCommon is the encoding that linkers write: 32-bit numbers relative to
	// the start of the section.
	hdrCommon = peDataRel | peSData4
	// hdrLocal is the size in bytes of the range of the table that is bisected
	// in one view.
	hdrLocal = easyView
)

// openHdr reads the header. A table that cannot be used leaves count 0.
func openHdr(sec Section) (h hdrTable) {
	if !sec.present() {
		return h
	}
	b := bases{data: sec.Addr}
	c := cursor{b: sec.head(0)}
	version, ptrEnc, countEnc, enc := c.u8(), c.u8(), c.u8(), c.u8()
	if version != hdrVersion || countEnc == peOmit || enc == peOmit || enc&peIndirect != 0 {
		return h
	}
	if ptrEnc != peOmit {
		c.pointer(ptrEnc&^peIndirect, 8, sec.Addr, &b)
	}
	n := c.pointer(countEnc, 8, sec.Addr, &b)
	size := peSize(enc, 8)
	if c.bad || size == 0 || enc&peBase > peDataRel {
		return h
	}
	h = hdrTable{sec: sec, first: uint64(c.pos), enc: enc, size: size}
	h.count = min(n, (sec.Size-h.first)/uint64(2*size))
	return h
}

// find gives the address of the FDE whose code starts last before pc, and its place in the table.
func (h *hdrTable) find(pc uint64) (addr, i uint64, ok bool) {
	if h.enc == hdrCommon {
		return h.findCommon(pc)
	}
	lo, hi := uint64(0), h.count
	for lo < hi {
		mid := (lo + hi) / 2
		start, _, ok := h.pair(mid)
		if !ok {
			return 0, 0, false
		}
		if start <= pc {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo == 0 {
		return 0, 0, false
	}
	_, addr, ok = h.pair(lo - 1)
	return addr, lo - 1, ok
}

// pair reads one entry of the table, in any encoding.
func (h *hdrTable) pair(i uint64) (start, addr uint64, ok bool) {
	off := h.first + i*uint64(2*h.size)
	c := cursor{b: h.sec.view(off, 2*int(h.size))}
	b := bases{data: h.sec.Addr}
	start = c.pointer(h.enc, 8, h.sec.Addr+off, &b)
	addr = c.pointer(h.enc, 8, h.sec.Addr+off, &b)
	return start, addr, !c.bad
}

// findCommon is find for the usual encoding.
func (h *hdrTable) findCommon(pc uint64) (addr, i uint64, ok bool) {
	key := int64(pc - h.sec.Addr)
	lo, hi := uint64(0), h.count
	for (hi-lo)*8 > hdrLocal {
		mid := (lo + hi) / 2
		b := h.sec.view(h.first+mid*8, 4)
		if b == nil {
			return 0, 0, false
		}
		if word(b) <= key {
			lo = mid
		} else {
			hi = mid
		}
	}
	b := h.sec.view(h.first+lo*8, int(hi-lo)*8)
	if len(b) == 0 || word(b) > key {
		return 0, 0, false
	}
	l, r := 0, len(b)/8
	for r-l > 1 {
		mid := (l + r) / 2
		if word(b[mid*8:]) <= key {
			l = mid
		} else {
			r = mid
		}
	}
	return h.sec.Addr + uint64(word(b[l*8+4:])), lo + uint64(l), true
}

func word(b []byte) int64 { return int64(int32(binary.LittleEndian.Uint32(b))) }
