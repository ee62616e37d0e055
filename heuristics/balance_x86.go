package heuristics

import "prywalk/frames"

// A compiler that knows the size of its frames still pushes a word here and there: HotSpot's C2 inside of loops that
// compare strings, C1 for the arguments of a helper, both around calls of a collector's barrier. There the stack
// pointer is lower than the frame's size says. How much lower shows on the way to the return, where it
// has to point to the return address again. That way is followed here, and nothing is asked of the registers.

// maxBalance bounds the instructions that are read: HotSpot's SHA-512 has 5,000.
const maxBalance = 12000

// CFA says where the canonical frame address is: Off above a register, or, if Saved, Add above the word that lies
// there, an earlier stack pointer. Registers have DWARF's numbers.
type CFA struct {
	Reg      uint8
	Saved    bool
	Off, Add int64
	FP       frames.RegRule // of the caller's frame pointer, undefined if the way does not restore it
	// Straight: no call is on the way, and no jump back. So it is one that the thread will take, but for branches.
	Straight bool
}

// ReturnCFA gives the CFA of the code at pc: it follows the instructions from there, inside of lo and hi, to the first
// return that they lead to, or to a jump elsewhere behind the pop of rbp, with which a frame is left for another
// function, whose address may be in a register. Calls are taken to leave the stack pointer as it is. False if no way
// leads to a return at which the stack pointer is known, and on arm64.
func (s *Source) ReturnCFA(pc, lo, hi uint64) (cfa CFA, ok bool) {
	if s.abi != &abiX86 || s.o.Code == nil || pc < lo || pc >= hi {
		return cfa, false
	}
	w := getInterpreter(s)
	defer putInterpreter(w)
	w.begin(pc, lo, hi)
	for {
		if v := w.returnPath(); v.kind == initial || v.kind == loaded {
			if v.base >= firstAnon {
				return cfa, false
			}
			cfa = CFA{Reg: s.abi.dwarf(v.base), Saved: v.kind == loaded, Off: int64(v.off), Add: int64(v.add)}
			cfa.FP, cfa.Straight = s.abi.fpRule(&w.st), !w.st.weak
			return cfa, true
		}
		if w.steps >= maxBalance || !w.pop() {
			return cfa, false
		}
	}
}

// fpRule gives where the frame pointer that a path ends with was at its start.
func (a *abi) fpRule(st *state) frames.RegRule {
	switch v := st.regs[a.fp]; {
	case v.isStart(a.fp):
		return frames.RegRule{}
	case v.kind == loaded && v.add == 0 && v.base < firstAnon:
		return frames.RegRule{Kind: frames.RuleRegOffset, Reg: a.dwarf(v.base), Off: int64(v.off)}
	}
	return frames.RegRule{Kind: frames.RuleUndefined}
}

// returnPath follows a path to its end, and gives the CFA that a return there shows; an unknown value if it is none.
func (w *interpreter) returnPath() value {
	st, f := &w.st, &w.fl
	left := false // rbp was popped by the instruction before
	for w.steps < maxBalance && st.pc >= st.lo && st.pc < st.hi {
		code := w.code(st.pc)
		if len(code) == 0 || !w.mark(st.pc) {
			break
		}
		w.steps++
		pops := code[0] == 0x58|hwBP
		stepX86(st, code, f)
		st.pc += uint64(f.size)
		target := st.pc + f.target
		inside := target >= st.lo && target < st.hi
		switch f.kind {
		case flowReturn:
			return f.ret
		case flowCall:
			st.weak = true
		case flowJump:
			if !inside && left {
				return st.regs[hwSP].plus(8)
			}
			st.weak = st.weak || target <= st.pc
			st.enter(target)
		case flowCond:
			if inside {
				w.push(target)
			}
		case flowIndirect, flowTail:
			if left {
				return st.regs[hwSP].plus(8)
			}
			return value{}
		case flowEnd:
			return value{}
		}
		left = pops
	}
	return value{}
}

// maxLevel is more than what a barrier gives back behind its call: all general registers and 32 of vectors.
const maxLevel = 64

// LevelAfter reports whether the stack pointer stays as it is from pc up to the next jump, call or return, as far as
// maxLevel instructions show.
func (s *Source) LevelAfter(pc uint64) bool {
	if s.abi != &abiX86 || s.o.Code == nil {
		return true
	}
	w := getInterpreter(s)
	defer putInterpreter(w)
	w.begin(pc, 0, ^uint64(0))
	st, f := &w.st, &w.fl
	for range maxLevel {
		stepX86(st, w.code(st.pc), f)
		if !st.regs[hwSP].isStart(hwSP) {
			return false
		}
		if f.kind != flowNext {
			return true
		}
		st.pc += uint64(f.size)
	}
	return true
}
