package heuristics

import "encoding/binary"

// leavesA64 reports whether the code from lo to hi may jump elsewhere: by b, by a conditional branch, or by a register
// (it may be a switch).
func (w *interpreter) leavesA64(lo, hi uint64) bool {
	for pc := lo; pc < hi; pc += 4 {
		code := w.code(pc)
		if len(code) < 4 {
			return true
		}
		i := a64(binary.LittleEndian.Uint32(code))
		to := pc
		switch {
		case i.is(0xfffffc1f, 0xd61f0000), i.is(0xfefff800, 0xd61f0800): // br, and its signed forms
			return true
		case i.is(0xfc000000, 0x14000000): // b
			to += uint64(4 * i.signed(0, 26))
		case i.is(0xff000000, 0x54000000), i.is(0x7e000000, 0x34000000): // b.cond, cbz, cbnz
			to += uint64(4 * i.signed(5, 19))
		case i.is(0x7e000000, 0x36000000): // tbz, tbnz
			to += uint64(4 * i.signed(5, 14))
		}
		if to < lo || to >= hi {
			return true
		}
	}
	return false
}
