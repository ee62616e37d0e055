package heuristics

import "prywalk/internal/x86"

// maxManner bounds the instructions that are read to tell how code behaves.
const maxManner = 400

// manner is how code behaves if it is taken as a function that is never returned from.
type manner struct {
	odd        bool // it does what functions do not
	begins     bool // it makes a frame at its very start
	dispatches bool // it jumps to where a register says, with the stack as at its start as far as is known
	switches   bool // it does so with a known other stack pointer, as in the midst of a function
}

// manner follows the code that begins at lo.
func (w *interpreter) manner(lo, hi uint64) (m manner) {
	w.begin(lo, lo, hi)
	a := prologueAnalysis{interpreter: w}
	for w.steps < maxManner {
		a.followManner(&m, lo, hi)
		if !w.pop() {
			break
		}
	}
	return m
}

// frameSteps is how many instructions it takes to make a frame.
const frameSteps = 2

// followManner follows w.st to its end.
func (w *prologueAnalysis) followManner(m *manner, lo, hi uint64) {
	st, a := &w.st, w.src.abi
	for w.steps < maxManner && st.pc >= lo && st.pc < hi {
		code := w.code(st.pc)
		if len(code) == 0 || !w.mark(st.pc) {
			return
		}
		w.steps++
		f := &w.fl
		a.step(st, code, f)
		st.pc += uint64(f.size)
		if f.kind == flowCall {
			st.called()
		}
		if f.kind == flowIndirect && !st.left {
			sp := st.regs[st.sp]
			moved := sp.kind == initial && sp.base >= firstAnon && !st.foreignSP() // by an unknown amount, and back perhaps
			m.dispatches = m.dispatches || moved || sp.isStart(st.sp)
			m.switches = m.switches || !moved && !sp.isStart(st.sp)
		}
		fp := st.regs[a.fp]
		m.begins = m.begins || w.steps <= frameSteps && fp.kind == initial && fp.base == a.sp && a.framesAt(st, fp)
		m.odd = m.odd || !w.src.o.JIT && (st.readKept || !st.aligned(int32(a.entry)))
		if !w.turn(f) {
			return
		}
	}
}

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
