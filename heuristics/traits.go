// SPDX-License-Identifier: Apache-2.0

package heuristics

// Bounds of a search for traits, in instructions; frameSteps make a frame.
const (
	maxTraitSteps = 400
	frameSteps    = 2
)

// functionTraits tell functions that never return from V8's byte code handlers and from parts split off functions.
type functionTraits struct {
	unlikeFunction bool // a callee-saved register is read that only a caller can have set, or calls are not aligned
	makesFrame     bool // the code makes a frame at its start
	dispatches     bool // a path jumps by register, with the stack pointer as at the start if known
	jumpsWithin    bool // a path jumps by register with another stack pointer, as within a function
}

// traitSearch follows all paths within a function: the explorer of traits.
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
	s.makesFrame = s.makesFrame || in.steps <= frameSteps && fp.isRelativeTo(abi.sp) && abi.framesAt(st, fp)
	s.unlikeFunction = s.unlikeFunction ||
		!in.src.opt.JIT && (st.readCalleeSaved || !st.callsAlignedTo(int32(abi.entry)))
	return in.goOn(f)
}

// noteIndirectJump notes a jump that leaves the stack pointer as at the start, or moved by an unknown amount, as a
// dispatch. Precondition: the path made no calls.
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
