// SPDX-License-Identifier: Apache-2.0

package heuristics

const maxTraitSteps = 400

// functionTraits is what code does, if it is a function that never returns.
type functionTraits struct {
	unlikeFunction bool // it does what functions do not do
	makesFrame     bool // it makes a frame at its start
	dispatches     bool // it jumps by register, with the stack pointer as at its start if known
	jumpsWithin    bool // it jumps by register with another stack pointer, as within a function
}

func (w *interpreter) traits(lo, hi uint64) (m functionTraits) {
	w.begin(lo, lo, hi)
	a := prologueAnalysis{interpreter: w}
	for w.steps < maxTraitSteps {
		a.followForTraits(&m, lo, hi)
		if !w.pop() {
			break
		}
	}
	return m
}

// frameSteps is the number of instructions that make a frame.
const frameSteps = 2

func (w *prologueAnalysis) followForTraits(m *functionTraits, lo, hi uint64) {
	st, a := &w.st, w.src.abi
	for w.steps < maxTraitSteps && st.pc >= lo && st.pc < hi {
		code := w.code(st.pc)
		if len(code) == 0 || !w.markVisited(st.pc) {
			return
		}
		w.steps++
		f := w.exec(code)
		st.pc += uint64(f.size)
		if f.kind == flowCall {
			st.noteCall()
		}
		if f.kind == flowIndirect && !st.madeCalls {
			sp := st.regs[st.sp]
			moved := sp.kind == startRelative && sp.base >= firstUnnamedBase && !st.isForeignSP() // by an unknown amount
			m.dispatches = m.dispatches || moved || sp.isStartValue(st.sp)
			m.jumpsWithin = m.jumpsWithin || !moved && !sp.isStartValue(st.sp)
		}
		fp := st.regs[a.fp]
		m.makesFrame = m.makesFrame ||
			w.steps <= frameSteps && fp.kind == startRelative && fp.base == a.sp && a.framesAt(st, fp)
		m.unlikeFunction = m.unlikeFunction || !w.src.opt.JIT && (st.readCalleeSaved || !st.callsAlignedTo(int32(a.entry)))
		if !w.follow(f) {
			return
		}
	}
}
