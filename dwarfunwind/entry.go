// SPDX-License-Identifier: Apache-2.0

package dwarfunwind

import (
	"prywalk/internal/base/wire"
)

const (
	// The largest FDEs have tens of thousands of bytes.
	maxEntry = 1 << 20
	// Compilers write less than 50 bytes.
	maxCIE = 1 << 10
)

type frameSection struct {
	section Section
	eh      bool            // .eh_frame
	cies    map[uint64]*cie // by offset
	index   index
}

// entry is an undecoded CIE or FDE (DWARF 5 §6.4.1).
type entry struct {
	data []byte // from the length field on
	body int    // offset in data, behind the CIE id or pointer
	off  uint64 // in the section
	next uint64 // offset of the next entry
	cie  uint64 // offset of the FDE's CIE
	kind entryKind
}

type entryKind uint8

const (
	kindBad entryKind = iota
	kindEnd           // length zero: the end of .eh_frame
	kindCIE
	kindFDE
)

func (s *frameSection) entryAt(off uint64) (e entry) {
	c := cursor{wire.Cursor{Bytes: s.section.viewAt(off)}}
	e.off = off
	n, wide := uint64(c.U32()), false
	if n == 0xffffffff {
		n, wide = c.U64(), true
	}
	if c.Bad {
		return e
	}
	e.next = off + uint64(c.Pos) + n
	if n == 0 {
		e.kind = kindEnd
		return e
	}
	if n > maxEntry || e.next > s.section.Size {
		return e
	}
	s.identify(&e, &c, wide)
	if e.data = c.Bytes; e.next-off <= uint64(len(c.Bytes)) {
		e.data = c.Bytes[:e.next-off]
	} else if e.data = s.section.view(off, int(e.next-off)); e.data == nil {
		e.kind = kindBad
	}
	return e
}

// identify reads the entry's kind. .eh_frame has 4 bytes, the distance back to the CIE (LSB 5.0 §10.6.1).
func (s *frameSection) identify(e *entry, c *cursor, wide bool) {
	at := e.off + uint64(c.Pos)
	var id uint64
	cieID := uint64(0xffffffff)
	if wide && !s.eh {
		id, cieID = c.U64(), ^uint64(0)
	} else {
		id = uint64(c.U32())
	}
	e.body = c.Pos
	switch {
	case c.Bad || e.off+uint64(e.body) > e.next:
	case s.eh && id == 0, !s.eh && id == cieID:
		e.kind = kindCIE
	case s.eh && id <= at:
		e.kind, e.cie = kindFDE, at-id
	case !s.eh:
		e.kind, e.cie = kindFDE, id
	}
}

// nextOffset returns the offset of the next entry, also of an unreadable entry; false at the end of the section.
func (e *entry) nextOffset(s *frameSection) (uint64, bool) {
	if e.kind == kindEnd && s.eh || e.next <= e.off || e.next >= s.section.Size {
		return 0, false
	}
	return e.next, true
}

// fde is a decoded frame description entry (DWARF 5 §6.4.1).
type fde struct {
	start, end uint64 // end excluded
	cie        *cie
	sec        *frameSection
	off        uint64 // in the section
	prog       cursor // CFA program
}

// fdeAt returns false if the FDE is damaged, or of code dropped by the linker (start 0 or near the top, or no length).
func (t *Table) fdeAt(s *frameSection, off uint64) (f fde, ok bool) {
	e := s.entryAt(off)
	return t.decodeFDE(s, &e)
}

// decodeFDE returns the FDE of an entry; false if it is none, or unusable.
func (t *Table) decodeFDE(s *frameSection, e *entry) (f fde, ok bool) {
	if e.kind != kindFDE {
		return f, false
	}
	c := t.cieAt(s, e.cie)
	if c == nil {
		return f, false
	}
	f = fde{cie: c, sec: s, off: e.off, prog: cursor{wire.Cursor{Bytes: e.data, Pos: e.body}}}
	p := &f.prog
	f.start = p.readPointer(c.fdeEnc, s.section.Addr+e.off)
	f.end = f.start + p.readEncoded(c.fdeEnc)
	if c.augmented {
		p.Block()
	}
	return f, !p.Bad && f.start != 0 && f.end > f.start
}

func (f *fde) contains(pc uint64) bool { return pc-f.start < f.end-f.start }
