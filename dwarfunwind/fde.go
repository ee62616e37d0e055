// SPDX-License-Identifier: Apache-2.0

package dwarfunwind

import "prywalk/internal/base/wire"

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
	f.start = p.readPointer(c.fdeEnc, s.Addr+e.off)
	f.end = f.start + p.readEncoded(c.fdeEnc)
	if c.augmented {
		p.Block()
	}
	return f, !p.Bad && f.start != 0 && f.end > f.start
}

func (f *fde) contains(pc uint64) bool { return pc-f.start < f.end-f.start }
