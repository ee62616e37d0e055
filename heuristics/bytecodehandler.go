// SPDX-License-Identifier: Apache-2.0

package heuristics

import "prywalk/frames"

// # Byte code handlers
//
// V8's byte code handlers never return. A handler takes callee-saved registers from the one before, and jumps by
// register to the next, with stack and frame pointer as at its start. On top of the stack is the return address into
// the interpreter's entry, which made the frame.

// handlerFrame returns the frame of a handler, else of a part split off if p shows its frame f. p and f may be nil.
func (a *analysis) handlerFrame(q frames.Query, fn span, p *prologue, f *finding) (finding, bool) {
	t := a.traits(fn)
	if handler := t.dispatches && !t.jumpsWithin; !t.unlikeFunction || !t.makesFrame && !handler {
		return finding{}, false
	}
	// V8's callees may pop their arguments: only the frame pointer is sure.
	if f != nil && !p.guessed && (!p.st.madeCalls || f.cfa.base == a.abi.fp) {
		return *f, true
	}
	return a.frameAtDispatch(q, fn, dispatchAny)
}

func (a *analysis) frameAtDispatch(q frames.Query, fn span, d dispatchKind) (finding, bool) {
	if q.AfterCall {
		return finding{}, false
	}
	v := a.searchEpilogues(q.PC, false, fn, acceptedEnds{dispatch: d})
	f, _ := v.best()
	return a.epilogueOnly(f, q)
}

// dispatchKind selects the indirect jumps that count as returns.
type dispatchKind uint8

const (
	dispatchNone dispatchKind = iota
	dispatchAny
	dispatchByTable // by a register loaded from a table
)

// maxLoaded is the distance from the load to the jump, in bytes.
const maxLoaded = 16

func (p *patterns) tableRegBefore(pc uint64) uint8 {
	for back := uint64(1); back <= min(maxLoaded, pc); back++ {
		p.begin(pc-back, span{pc - back, pc})
		if p.step(); p.st.tableReg == noReg {
			continue
		}
		reg := p.st.tableReg
		for p.st.pc < pc && p.step().kind == flowNext {
		}
		if p.st.pc == pc && p.flow.kind == flowNext {
			return reg
		}
	}
	return noReg
}

func (e *epilogueSearch) voteDispatch(jump *flow) {
	st := &e.in.st
	accepted := e.accepts.dispatch == dispatchAny
	if e.accepts.dispatch == dispatchByTable {
		accepted = jump.toReg != noReg && jump.toReg == st.tableReg
	}
	if !accepted || st.madeCalls {
		return
	}
	if f, ok := e.findingAtTail(true); ok {
		e.votes.add(&f, false)
	}
}

// maxTraitSteps and frameSteps count instructions. frameSteps of them make a frame.
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
	in     *interpreter
	traits functionTraits
}

func (a *analysis) traits(fn span) functionTraits {
	a.begin(fn.lo, fn)
	a.limit = maxTraitSteps
	s := &traitSearch{in: &a.interpreter}
	a.runPaths(s)
	return s.traits
}

func (s *traitSearch) arrive() bool         { return s.in.visit() }
func (s *traitSearch) done() bool           { return false }
func (s *traitSearch) needsPostponed() bool { return false }

func (s *traitSearch) follow(f *flow) bool {
	in, st, abi := s.in, &s.in.st, s.in.abi
	if f.kind == flowCall {
		st.recordCall()
	}
	if f.kind == flowIndirect && !st.madeCalls {
		s.classifyIndirectJump()
	}
	fp := st.regs[abi.fp]
	s.traits.makesFrame = s.traits.makesFrame || in.steps <= frameSteps && fp.isRelativeTo(abi.sp) && abi.isFrameAt(st, fp)
	s.traits.unlikeFunction = s.traits.unlikeFunction ||
		!in.src.opt.JIT && (st.readCalleeSaved || !st.callsAlignedTo(int32(abi.entry)))
	return in.goOn(f)
}

// Precondition: the path made no calls.
func (s *traitSearch) classifyIndirectJump() {
	st := &s.in.st
	sp := st.regs[st.sp]
	moved := sp.kind == startRelative && sp.base >= firstUnnamedBase && !st.isForeignSP()
	if moved || sp.isStartValue(st.sp) {
		s.traits.dispatches = true
	} else {
		s.traits.jumpsWithin = true
	}
}
