package heuristics

// leavesBytes bounds the functions that are read for jumps, in bytes.
const leavesBytes = 64 << 10

// LeavesByJump implements [frames.Jumps]. It reads the function's instructions from the
// first to the last, and is true where it cannot tell: for a function of unknown or great
// length, one with an indirect jump (it may be a switch) or with something that is no
// instruction.
func (s *Source) LeavesByJump(start uint64) bool {
	lo, hi, ok := s.bounds(start)
	if s.abi == nil || s.o.Code == nil || !ok || lo != start || hi-lo > leavesBytes {
		return true
	}
	w := getInterpreter(s)
	defer putInterpreter(w)
	if s.abi.ra != noReg {
		return w.leavesA64(lo, hi)
	}
	return w.leavesX86(lo, hi)
}

// leavesX86 reports whether the code from lo to hi may jump elsewhere.
func (w *interpreter) leavesX86(lo, hi uint64) bool {
	for pc := lo; pc < hi; {
		i, ok := decodeX86(w.code(pc))
		if !ok {
			return true
		}
		pc += uint64(i.size)
		if to, jumps := i.jump(pc); jumps && (to < lo || to >= hi) {
			return true
		}
	}
	return false
}

// jump gives where an instruction jumps to, on a condition or without one; next is the
// address of the one after it. An indirect jump goes to 0.
func (i *instX86) jump(next uint64) (to uint64, ok bool) {
	switch {
	case i.opmap == mapOne && (i.op == 0xe9 || i.op == 0xeb || i.op>>4 == 7 || i.op >= 0xe0 && i.op <= 0xe3),
		i.opmap == map0F && i.op>>4 == 8 && !i.vex:
		return next + uint64(i.imm), true
	case i.opmap == mapOne && i.op == 0xff && (i.reg&7 == 4 || i.reg&7 == 5), i.opmap == mapAPX:
		return 0, true
	}
	return 0, false
}
