// SPDX-License-Identifier: Apache-2.0

package dwarfinfo

import "prywalk/internal/base/wire"

type span struct {
	lo, hi uint64
	scope  int32
	depth  int32
}

// isCode excludes discarded sections, which linkers put at 0, 1 or the end.
func isCode(lo, hi uint64) bool { return lo > 1 && lo < hi && lo < ^uint64(1) }

// appendSpans appends an entry's address ranges (DWARF 5 §2.17).
func (u *unit) appendSpans(e *entry, out []span) []span {
	if e.ranges.kind != kindNone {
		return u.readRanges(e.ranges, out)
	}
	lo, ok := u.addr(e.low)
	if !ok || e.high.kind == kindNone {
		return out
	}
	hi, ok := u.addr(e.high)
	if !ok {
		hi = lo + e.high.u
	}
	return u.d.appendSpan(out, lo, hi)
}

func (d *Data) appendSpan(out []span, lo, hi uint64) []span {
	if !isCode(lo, hi) || !d.takeMemory(spanCost) {
		return out
	}
	return append(out, span{lo: lo, hi: hi})
}

func (u *unit) readRanges(v value, out []span) []span {
	if u.version < 5 {
		return u.readRanges4(v.u, out)
	}
	off := v.u
	if v.kind == kindRnglistx {
		list, ok := indexed(u.d.s.Rnglists, u.rngBase, off, u.offSize)
		if !ok {
			return out
		}
		off = u.rngBase + list
	}
	return u.readRanges5(off, out)
}

// readRanges4 reads .debug_ranges (DWARF 4 §2.17.3).
func (u *unit) readRanges4(off uint64, out []span) []span {
	c := wire.At(u.d.s.Ranges, off)
	base := u.lowPC
	for u.d.spendSteps(1) {
		lo, hi := c.Sized(u.addrSize), c.Sized(u.addrSize)
		switch {
		case c.Bad || lo == 0 && hi == 0:
			return out
		case lo == ^uint64(0) || u.addrSize == 4 && lo == 0xffffffff:
			base = hi
		default:
			out = u.d.appendSpan(out, base+lo, base+hi)
		}
	}
	return out
}

// readRanges5 reads .debug_rnglists (DWARF 5 §7.25, table 7.30).
func (u *unit) readRanges5(off uint64, out []span) []span {
	c := wire.At(u.d.s.Rnglists, off)
	base := u.lowPC
	for u.d.spendSteps(1) {
		var lo, hi uint64
		switch op := c.U8(); op {
		case 1: // base_addressx
			base, _ = u.addrx(c.ULEB())
			continue
		case 2: // startx_endx
			lo, _ = u.addrx(c.ULEB())
			hi, _ = u.addrx(c.ULEB())
		case 3: // startx_length
			lo, _ = u.addrx(c.ULEB())
			hi = lo + c.ULEB()
		case 4: // offset_pair
			lo, hi = base+c.ULEB(), base+c.ULEB()
			if !isCode(base, ^uint64(0)) && base != 0 {
				continue
			}
		case 5: // base_address
			base = c.Sized(u.addrSize)
			continue
		case 6: // start_end
			lo, hi = c.Sized(u.addrSize), c.Sized(u.addrSize)
		case 7: // start_length
			lo = c.Sized(u.addrSize)
			hi = lo + c.ULEB()
		default: // end_of_list, unknown
			return out
		}
		if c.Bad {
			return out
		}
		out = u.d.appendSpan(out, lo, hi)
	}
	return out
}
