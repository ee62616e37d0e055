// SPDX-License-Identifier: Apache-2.0

package dwarfinfo

import "prywalk/internal/base/wire"

type unit struct {
	d                 *Data
	off, dies, end    uint64 // in .debug_info: header, first entry, end
	data              []byte // from off on, perhaps only the beginning
	abbrevOff         uint64
	version           uint16
	addrSize, offSize uint8
	kind              uint8

	// compDir to rngBase are from the unit's first entry.
	compDir              []byte
	lowPC                uint64
	stmtList             uint64
	hasLines             bool
	addrBase, strOffBase uint64
	rngBase              uint64

	funcs *funcTable
}

// DWARF 5 §7.5.1, table 7.2.
const (
	unitType      = 2
	unitSplitType = 6
)

// Bytes of the largest unit header, and of what is first read of a unit.
const (
	maxHeader = 40
	rootSize  = 512
)

// readHeader reads the unit header at off (DWARF 5 §7.5.1).
func (d *Data) readHeader(off uint64) *unit {
	u := &unit{d: d, off: off}
	h := wire.Cursor{Bytes: view(d.s.Info, off, maxHeader)}
	length, offSize := initialLength(&h)
	start := off + uint64(h.Pos)
	if h.Bad || length > d.s.Info.Size()-start {
		return nil
	}
	u.end = start + length
	h.Bytes = h.Bytes[:min(uint64(len(h.Bytes)), u.end-off)]
	u.offSize = offSize
	u.version = h.U16()
	if u.version >= 5 {
		u.kind = h.U8()
		u.addrSize = h.U8()
		u.abbrevOff = h.Sized(offSize)
		switch u.kind {
		case unitType, unitSplitType:
			h.Skip(8 + uint64(offSize))
		case 4, 5: // skeleton, split compile
			h.Skip(8)
		}
	} else {
		u.abbrevOff = h.Sized(offSize)
		u.addrSize = h.U8()
	}
	u.dies = off + uint64(h.Pos)
	if h.Bad || u.version < 2 || u.version > 5 || u.addrSize != 8 && u.addrSize != 4 {
		u.kind, u.dies = unitType, u.end // skipped
	}
	return u
}

func (u *unit) cursorAt(off uint64) wire.Cursor {
	if uint64(len(u.data)) < u.end-u.off && u.d.takeViewMemory(u.end-u.off) {
		u.data = view(u.d.s.Info, u.off, u.end-u.off)
	}
	return wire.At(u.data, off-u.off)
}

func (u *unit) readRoot() []span {
	c := wire.At(view(u.d.s.Info, u.off, min(u.end-u.off, rootSize)), u.dies-u.off)
	a := u.rootAbbrev(c.ULEB())
	if a == nil || !u.d.spendSteps(1+len(a.specs)) {
		return nil
	}
	e := u.readEntry(&c, a)
	if c.Bad { // it may be longer
		c = u.cursorAt(u.dies)
		c.ULEB()
		e = u.readEntry(&c, a)
	}
	var base, listBase uint64 // without attributes: the section's first table, after its header (§7.26, §7.27, §7.28)
	if u.version >= 5 {
		base, listBase = uint64(u.offSize)*2, uint64(u.offSize)*2+4
	}
	u.strOffBase, u.addrBase, u.rngBase = e.strBase.or(base), e.addrBase.or(base), e.rngBase.or(listBase)
	u.stmtList, u.hasLines = e.stmtList.u, e.stmtList.kind != kindNone
	u.compDir = u.stringOf(e.compDir)
	u.lowPC, _ = u.addr(e.low)
	return u.appendSpans(&e, nil)
}

// initialLength reads a unit's length and the size of its offsets (DWARF 5 §7.4), bytes.
func initialLength(c *wire.Cursor) (length uint64, offSize uint8) {
	n := c.U32()
	switch {
	case n == 0xffffffff:
		return c.U64(), 8
	case n >= 0xfffffff0:
		c.Fail()
	}
	return uint64(n), 4
}
