// SPDX-License-Identifier: Apache-2.0

package heuristics

// In instructions. frameSteps make a frame.
const (
	maxTraitSteps = 400
	frameSteps    = 2
)

// functionTraits distinguish functions that never return, V8's byte code handlers, and parts split off.
type functionTraits struct {
	unlikeFunction bool // it reads a register that only a caller can have set, or its calls are not aligned
	makesFrame     bool // at its start
	dispatches     bool // to an unknown place, with the stack pointer as at the start if known
	jumpsWithin    bool // likewise, with another stack pointer
}

type traitSearch struct {
	in *interpreter
	functionTraits
}

func (a *analysis) traits(fn span) functionTraits {
	a.begin(fn.lo, fn)
	a.limit = maxTraitSteps
	s := &traitSearch{in: &a.interpreter}
	a.runPaths(s)
	return s.functionTraits
}

func (s *traitSearch) arrive() bool         { return s.in.visit() }
func (s *traitSearch) done() bool           { return false }
func (s *traitSearch) needsPostponed() bool { return false }

func (s *traitSearch) follow(f *flow) bool {
	in, st, abi := s.in, &s.in.st, s.in.abi
	if f.kind == flowCall {
		st.noteCall()
	}
	if f.kind == flowIndirect && !st.madeCalls {
		s.noteIndirectJump()
	}
	fp := st.regs[abi.fp]
	s.makesFrame = s.makesFrame || in.steps <= frameSteps && fp.isRelativeTo(abi.sp) && abi.isFrameAt(st, fp)
	s.unlikeFunction = s.unlikeFunction ||
		!in.src.opt.JIT && (st.readCalleeSaved || !st.callsAlignedTo(int32(abi.entry)))
	return in.goOn(f)
}

// Precondition: the path made no calls.
func (s *traitSearch) noteIndirectJump() {
	st := &s.in.st
	sp := st.regs[st.sp]
	moved := sp.kind == startRelative && sp.base >= firstUnnamedBase && !st.isForeignSP()
	if moved || sp.isStartValue(st.sp) {
		s.dispatches = true
	} else {
		s.jumpsWithin = true
	}
}
