// SPDX-License-Identifier: Apache-2.0

package heuristics

// # Code that forwards a call
//
// Runtimes generate code that looks up a target and jumps to it (Mono's IMT thunks and delegate trampolines), with the
// stack as the call left it, from an aligned address behind padding.

const (
	thunkAlign = 16 // of the start, in bytes
	thunkBytes = 64 // from the start to pc
	thunkSteps = 24 // instructions read
)

// isThunk reports whether pc is in such code: no path from its start over pc to a jump out changes the stack.
func (s *Source) isThunk(w *interpreter, pc uint64) bool {
	for start := pc &^ (thunkAlign - 1); start+thunkBytes > pc && start > thunkAlign; start -= thunkAlign {
		if s.isPadded(start) {
			return s.isThunkFrom(w, start, pc)
		}
	}
	return false
}

// isPadded reports whether two bytes 0, or two int3, precede start (loops are aligned with nops).
func (s *Source) isPadded(start uint64) bool {
	b := s.buf[:3]
	return s.opt.Code.ReadCode(start-2, b) == 3 && b[0] == b[1] && b[1] != b[2] && (b[0] == 0 || b[0] == 0xcc)
}

// isThunkFrom reads code behind a jump only if a branch leads there.
func (s *Source) isThunkFrom(w *interpreter, from, pc uint64) bool {
	st := &w.st
	st.reset(s.abi, from, 0, ^uint64(0))
	found, furthest := false, from
	for range thunkSteps {
		at := st.pc
		found = found || at == pc
		f := w.exec(w.code(at))
		next := at + uint64(f.size)
		if !s.keepsAll(st) {
			return false
		}
		switch f.kind {
		case flowNext:
		case flowCond:
			if f.target > 1<<31 { // a loop
				return false
			}
			furthest = max(furthest, next+f.target)
		case flowJump, flowIndirect, flowTail:
			if next > furthest {
				return found
			}
		default:
			return false
		}
		st.pc = next
	}
	return false
}

func (s *Source) keepsAll(st *symbolicState) bool {
	for _, reg := range s.abi.calleeSaved {
		if !st.regs[reg].isStartValue(reg) {
			return false
		}
	}
	return st.regs[s.abi.sp].isStartValue(s.abi.sp)
}

func (s *Source) thunkFrame() finding { return finding{cfa: startValue(s.abi.sp).plus(s.abi.entry)} }
