package heuristics

import "prywalk/internal/x86"

// leavesBytes bounds the functions that are read for jumps, in bytes.
const leavesBytes = 64 << 10

// LeavesByJump implements [frames.Jumps]. It reads the function's instructions from the first to the last, and is
// true where it cannot tell. It is so for a function of unknown or great length, one with an indirect jump (it may
// be a switch) or with something that is no instruction.
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
		i, ok := x86.Decode(w.code(pc))
		if !ok {
			return true
		}
		pc += uint64(i.Size)
		if to, jumps := i.Jump(pc); jumps && (to < lo || to >= hi) {
			return true
		}
	}
	return false
}
