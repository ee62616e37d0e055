// SPDX-License-Identifier: Apache-2.0

package dwarfinfo

import (
	"slices"
	"sort"

	"prywalk/internal/wire"
)

// If .debug_aranges (DWARF 5 §6.1.2) has one unit for an address, and the unit's own ranges agree, only that unit is
// read.

type listedUnits struct {
	list []unitRange[uint64] // by address
	read []*unit
}

// maxListed bounds these units; with more, the index of all is cheaper.
const maxListed = 256

// callsOfListed returns false if other units may have the address, too.
func (d *Data) callsOfListed(addr uint64, out []Call) ([]Call, bool) {
	if d.ready {
		return out, false
	}
	if d.listed == nil {
		d.listed = &listedUnits{list: d.aranges()}
	}
	off, ok := d.listed.soleUnitAt(addr)
	if !ok {
		return out, false
	}
	u := d.listed.unitFrom(off)
	if u == nil {
		if u = d.readListed(off); u == nil {
			return out, false
		}
	}
	if !u.has(addr) {
		return out, false
	}
	got := u.calls(addr, out)
	return got, len(got) > len(out)
}

func (t *listedUnits) soleUnitAt(addr uint64) (unit uint64, ok bool) {
	i := sort.Search(len(t.list), func(i int) bool { return t.list[i].lo > addr })
	for tries := 0; i > 0 && t.list[i-1].max > addr; i-- {
		a := &t.list[i-1]
		if addr >= a.hi {
			if tries++; tries > maxOverlap {
				return 0, false
			}
			continue
		}
		if ok && a.unit != unit {
			return 0, false
		}
		unit, ok = a.unit, true
	}
	return unit, ok
}

func (d *Data) readListed(off uint64) *unit {
	if len(d.listed.read) == maxListed || off >= size(d.s.Info) || !d.spendSteps(1) || !d.takeMemory(unitCost) {
		return nil
	}
	u := d.readHeader(off)
	if u == nil || u.kind == unitType || u.kind == unitSplitType {
		return nil
	}
	u.listed = u.readRoot()
	if !u.hasCode {
		return nil
	}
	d.listed.read = append(d.listed.read, u)
	return u
}

func (u *unit) has(addr uint64) bool {
	return len(u.listed) == 0 || slices.ContainsFunc(u.listed, func(s span) bool { return addr >= s.lo && addr < s.hi })
}

func (t *listedUnits) unitFrom(off uint64) *unit {
	if t != nil {
		for _, u := range t.read {
			if u.off == off {
				return u
			}
		}
	}
	return nil
}

func (t *listedUnits) unitAround(off uint64) *unit {
	if t != nil {
		for _, u := range t.read {
			if off >= u.dies && off < u.end {
				return u
			}
		}
	}
	return nil
}

func (d *Data) aranges() []unitRange[uint64] {
	var out []unitRange[uint64]
	c := wire.At(d.s.Aranges, 0)
	for !c.Done() {
		start := c.Pos
		length, offSize := initialLength(&c)
		if c.Bad || length > uint64(len(c.Bytes)-c.Pos) {
			break
		}
		h := wire.Cursor{Bytes: c.Bytes[:c.Pos+int(length)], Pos: c.Pos}
		c.Pos += int(length)
		h.U16()
		unit := h.Sized(offSize)
		size, seg := h.U8(), h.U8()
		if !d.spendSteps(1) || !d.takeMemory(funcCost) {
			break
		}
		if size != 8 && size != 4 || seg != 0 {
			continue
		}
		if rest := (h.Pos - start) % (2 * int(size)); rest != 0 {
			h.Skip(uint64(2*int(size) - rest))
		}
		for !h.Done() && d.spendSteps(1) {
			lo := h.Sized(size)
			if n := h.Sized(size); !h.Bad && isCode(lo, lo+n) && d.takeMemory(spanCost) {
				out = append(out, unitRange[uint64]{lo: lo, hi: lo + n, unit: unit})
			}
		}
	}
	sortRanges(out)
	return out
}
