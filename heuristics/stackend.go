// SPDX-License-Identifier: Apache-2.0

package heuristics

import (
	"bytes"

	"prywalk/frames"
)

// maxStackEnd bounds the instructions: clear a register, call, trap.
const maxStackEnd = 6

// EndsStack implements [frames.StackEnds]. It recognises the code to which a fiber's first function returns, to end
// the process (Boost.Context's make_fcontext, and PHP's: xor edi, edi; call _exit; hlt): within a function, behind a
// jump by register or a return, it leads straight to a call before a trap or the end of the function.
func (s *Source) EndsStack(pc frames.Addr) bool {
	if s.abi == nil || s.opt.Code == nil {
		return false
	}
	w := getInterpreter(s)
	defer putInterpreter(w)
	if !w.behindJumpOrReturn(pc) {
		return false
	}
	_, hi, known := s.bounds(pc)
	st := &w.st
	st.reset(s.abi, pc, pc, ^uint64(0))
	for called, n := false, 0; n < maxStackEnd; n++ {
		if known && st.pc >= hi {
			return called
		}
		code := w.code(st.pc)
		f := s.abi.exec(st, code)
		switch {
		case f.kind == flowCall && !called:
			called = true
		case f.kind == flowEnd && s.abi.isTrap(code):
			return called
		case f.kind != flowNext:
			return false
		}
		st.pc += uint64(f.size)
	}
	return false
}

func (w *interpreter) behindJumpOrReturn(pc uint64) bool {
	if pc < 4 {
		return false
	}
	var b [4]byte
	if w.src.opt.Code.ReadCode(pc-4, b[:]) != len(b) {
		return false
	}
	if w.src.opt.Arch == frames.AArch64 {
		word := uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24
		return word&0xfffffc1f == 0xd61f0000 || word&0xfffffc1f == 0xd65f0000 // br, ret
	}
	return b[2] == 0xff && b[3]&0xf8 == 0xe0 || b[3] == 0xc3 // jmp reg, ret
}

// isTrapX86 recognises hlt and ud2.
func isTrapX86(code []byte) bool {
	return bytes.HasPrefix(code, []byte{0xf4}) || bytes.HasPrefix(code, []byte{0x0f, 0x0b})
}

// isTrapA64 recognises udf, brk and hlt.
func isTrapA64(code []byte) bool {
	if len(code) < 4 {
		return false
	}
	exception := code[2] & 0xe0 // opc of exception generating instructions: 1 brk, 2 hlt
	return code[2] == 0 && code[3] == 0 || code[3] == 0xd4 && (exception == 0x20 || exception == 0x40)
}
