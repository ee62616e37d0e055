package heuristics

// # Code that passes a call on
//
// Runtimes make small pieces of code that look something up and jump to where that leads: for calls of interfaces, of
// delegates, of methods that may not be compiled yet (Mono's IMT thunks and delegate trampolines). They end in a
// jump by register or memory, where the analysis of paths to a return ends without an answer. But they touch neither the
// stack pointer nor the stack, from their first instruction on: so the return address is still where the call has put it.
//
// The first instruction is known by what stands before it: the piece is aligned, and behind padding.

const (
	// passingAlign is how such code is aligned, and passingBytes how long it is at most before the instruction in question.
	passingAlign = 16
	passingBytes = 64
	// passingSteps bounds the instructions.
	passingSteps = 24
)

// passing reports whether the code around pc passes a call on: from an aligned start behind padding, over pc, up to jumps
// that leave it, nothing touches the stack.
func (s *Source) passing(w *interpreter, pc uint64) bool {
	for start := pc &^ (passingAlign - 1); start+passingBytes > pc && start > passingAlign; start -= passingAlign {
		if s.padded(start) {
			return s.passes(w, start, pc)
		}
	}
	return false
}

// padded reports whether code begins at start and padding stands before it: two bytes that are both 0 or int3, which the
// code's first is not. Loops are aligned with nops.
func (s *Source) padded(start uint64) bool {
	b := s.buf[:3]
	return s.o.Code.ReadCode(start-2, b) == 3 && b[0] == b[1] && b[1] != b[2] && (b[0] == 0 || b[0] == 0xcc)
}

// passes is passing from a known start. What lies behind a jump is read on if a branch leads there.
func (s *Source) passes(w *interpreter, from, pc uint64) bool {
	st := &w.st
	st.reset(s.abi, from, 0, ^uint64(0))
	met, furthest := false, from
	for range passingSteps {
		at := st.pc
		met = met || at == pc
		f := s.abi.exec(st, w.code(at))
		next := at + uint64(f.size)
		if !s.keepsAll(st) {
			return false
		}
		switch f.kind {
		case flowNext:
		case flowCond:
			if f.target > 1<<31 { // backwards: a loop
				return false
			}
			furthest = max(furthest, next+f.target)
		case flowJump, flowIndirect, flowTail:
			if next > furthest {
				return met
			}
		default:
			return false
		}
		st.pc = next
	}
	return false
}

// keepsAll reports whether the stack pointer and the registers that callees keep are what they were at the start.
func (s *Source) keepsAll(st *state) bool {
	for _, reg := range s.abi.kept {
		if !st.regs[reg].isStart(reg) {
			return false
		}
	}
	return st.regs[s.abi.sp].isStart(s.abi.sp)
}

// passedOn gives the frame of code that passes a call on: nothing but the return address.
func (s *Source) passedOn() found { return found{cfa: start(s.abi.sp).plus(s.abi.entry)} }
