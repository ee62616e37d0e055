// SPDX-License-Identifier: Apache-2.0

package heuristics

import (
	"encoding/binary"

	"prywalk/frames"
)

func callBeforeA64(s *Source, ret uint64) (frames.Call, bool) {
	b := s.buf[:4]
	if ret < 4 || ret%4 != 0 || s.opt.Code.ReadCode(ret-4, b) < 4 {
		return frames.Call{}, false
	}
	w := a64(binary.LittleEndian.Uint32(b))
	if w.is(0xfc000000, 0x94000000) {
		return frames.Call{Target: ret - 4 + uint64(4*w.signed(0, 26)), Direct: true}, true
	}
	return frames.Call{}, isCallA64(w)
}

// hasTailCallA64 reports whether the code has a jump out of lo to hi, or one by register, which may be a switch's.
func (w *interpreter) hasTailCallA64(lo, hi uint64) bool {
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

func switchTargetA64(st *symbolicState, code []byte) (value, bool) {
	if len(code) < 4 {
		return value{}, false
	}
	w := a64(binary.LittleEndian.Uint32(code))
	if !isJumpA64(w) {
		return value{}, false
	}
	return st.regs[w.rn()], true
}

// isTrapA64 recognises udf, brk and hlt.
func isTrapA64(code []byte) bool {
	if len(code) < 4 {
		return false
	}
	exception := code[2] & 0xe0 // opc of exception generating instructions: 1 brk, 2 hlt
	return code[2] == 0 && code[3] == 0 || code[3] == 0xd4 && (exception == 0x20 || exception == 0x40)
}

// isJumpA64 recognises br and ret.
func isJumpA64(w a64) bool { return w.is(0xfffffc1f, 0xd61f0000) || w.is(0xfffffc1f, 0xd65f0000) }

func endsInJumpA64(b []byte) bool { return isJumpA64(a64(binary.LittleEndian.Uint32(b))) }
