// SPDX-License-Identifier: Apache-2.0

package heuristics

// In instructions: before the call, and of the callee.
const (
	maxBeforeCall = 8
	maxCallee     = 24
)

// calleeMakesFrame recognises V8's baseline code before its first call, of a builtin that pops its own return address
// and makes the caller's frame.
func (w *interpreter) calleeMakesFrame(pc uint64) (f finding, ok bool) {
	a, st := w.src.abi, &w.st
	if a.ra != noReg {
		return f, false // a callee's return address is in the link register
	}
	w.begin(pc, 0, ^uint64(0))
	for range maxBeforeCall {
		if !w.stepStraight() || !st.regs[a.sp].isStartValue(a.sp) {
			return f, false
		}
		if w.lastFlow.kind != flowCall {
			continue
		}
		if w.lastFlow.target == 0 || !w.makesCallersFrame(st.pc+w.lastFlow.target) {
			return f, false
		}
		f.cfa = startValue(a.sp).plus(a.entry)
		for i, reg := range a.calleeSaved {
			if reg != a.fp {
				f.calleeSaved[i] = savedReg{kind: lost}
			}
		}
		return f, true
	}
	return f, false
}

func (w *interpreter) makesCallersFrame(pc uint64) bool {
	a, st := w.src.abi, &w.st
	st.push(a.sp, value{})
	st.pc = pc
	for range maxCallee {
		if !w.stepStraight() || w.lastFlow.kind == flowCall {
			return false
		}
		if fp := st.regs[a.fp]; fp.kind == startRelative && fp.base == a.sp {
			return fp == st.regs[a.sp] && a.framesAt(st, fp)
		}
	}
	return false
}

// push rbp
const opPushBP = 0x55

// makesFrame votes for the frame that JIT code makes at w.st (push rbp; mov rbp, rsp) below the return address.
// Innermost frames only: other compilers may save rbp earlier.
func (w *forwardAnalysis) makesFrame() bool {
	a, st := w.src.abi, &w.st
	fp := st.regs[a.fp]
	if !w.src.opt.JIT || !w.inner || a.ra != noReg || fp.kind != startRelative || fp.base != a.sp || fp != st.regs[a.sp] {
		return false
	}
	f := finding{cfa: fp.plus(16)}
	for i := range f.calleeSaved {
		f.calleeSaved[i] = savedReg{kind: lost}
	}
	switch {
	case st.load(fp).isStartValue(a.fp):
		f.calleeSaved[0] = savedReg{}
	case w.steps == 1 && w.isBehindPushBP(st.pc):
		f.calleeSaved[0] = savedReg{inMemory, a.sp, fp.off}
	default:
		return false
	}
	w.votes.add(&f, false)
	return true
}

func (w *interpreter) isBehindPushBP(pc uint64) bool {
	b := w.code(pc - 1)
	return pc > 0 && len(b) > 0 && b[0] == opPushBP
}
