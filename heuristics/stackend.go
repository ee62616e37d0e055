// SPDX-License-Identifier: Apache-2.0

package heuristics

import "prywalk/frames"

// maxStackEnd bounds the instructions: clear a register, call, trap.
const maxStackEnd = 6

// EndsStack implements [frames.StackEnds]. It recognises the code to which a fiber's first function returns, to end the
// process (Boost.Context, PHP: xor edi, edi; call _exit; hlt): within a function, behind a jump by register or a
// return, it leads straight to a call before a trap or the function's end.
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
		f := w.exec(code)
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
	return w.src.abi.endsInJump(b[:])
}
