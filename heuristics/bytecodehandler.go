// SPDX-License-Identifier: Apache-2.0

package heuristics

import "prywalk/frames"

// # Byte code handlers
//
// V8's byte code handlers never return. A handler takes callee-saved registers from the one before, and jumps by
// register to the next, with stack and frame pointer as at its start. On top of the stack is the return address into
// the interpreter's entry, which made the frame.

// handlerFrame returns the frame of code that reads its caller's registers and never returns: a handler, else a part
// split off, if the paths to q show that frame (p and g, which may be nil).
func (s *Source) handlerFrame(w *interpreter, q frames.Query, p *prologue, g *finding) (finding, bool) {
	lo, hi, ok := s.bounds(q.LookupPC(s.opt.Arch))
	if !ok {
		return finding{}, false
	}
	m := w.traits(lo, hi)
	if !m.unlikeFunction || !m.makesFrame && !(m.dispatches && !m.jumpsWithin) {
		return finding{}, false
	}
	// V8's callees may pop their arguments: only the frame pointer is sure.
	if g != nil && !p.weak && (!p.st.madeCalls || g.cfa.base == s.abi.fp) {
		return *g, true
	}
	if q.Caller {
		return finding{}, false
	}
	return s.frameAtDispatch(w, q, lo, hi, dispatchAny)
}

// unboundedHandlerFrame is handlerFrame for code of unknown bounds, as V8's builtins without symbols. The jump must be
// by a word of a table to which a callee-saved register points.
func (s *Source) unboundedHandlerFrame(w *interpreter, q frames.Query) (finding, bool) {
	if q.Caller || s.abi.tableRegLoaded == nil {
		return finding{}, false
	}
	return s.frameAtDispatch(w, q, 0, ^uint64(0), dispatchByTable)
}

func (s *Source) frameAtDispatch(w *interpreter, q frames.Query, lo, hi uint64, d dispatchKind) (finding, bool) {
	v := w.analyseForwardTo(q.PC, false, lo, hi, d)
	f, _ := v.best()
	return s.forwardOnly(f, q)
}

// dispatchKind selects the indirect jumps that count as returns.
type dispatchKind uint8

const (
	dispatchNone dispatchKind = iota
	dispatchAny
	dispatchByTable // by a register that was loaded from a table
)

// maxLoaded bounds the bytes between the load from the table and the jump.
const maxLoaded = 16

func (w *interpreter) tableRegBefore(pc uint64) uint8 {
	for back := uint64(1); back <= min(maxLoaded, pc); back++ {
		if reg := w.src.abi.tableRegLoaded(w.code(pc - back)); reg != noReg && w.leadsTo(pc-back, pc) {
			return reg
		}
	}
	return noReg
}

// leadsTo reports whether straight instructions lead to pc. It begins a path.
func (w *interpreter) leadsTo(from, pc uint64) bool {
	for w.begin(from, from, pc); w.st.pc < pc; {
		if !w.stepStraight() || w.lastFlow.kind != flowNext {
			return false
		}
	}
	return w.st.pc == pc
}

func (w *forwardAnalysis) watchDispatch(code []byte, f *flow) {
	if w.dispatch == dispatchByTable {
		if reg := w.src.abi.tableRegLoaded(code); reg != noReg {
			w.st.table = reg
		}
	}
	if f.kind == flowIndirect {
		w.voteDispatch(code)
	}
}

// voteDispatch votes for a jump to the next handler, if the path made no call.
func (w *forwardAnalysis) voteDispatch(code []byte) {
	if w.st.madeCalls || w.dispatch == dispatchByTable && !w.src.abi.jumpsBy(code, w.st.table) {
		return
	}
	fl := w.src.abi.tail(&w.st)
	if f, ok := w.src.findingAtReturn(&w.st, &fl, true); ok {
		w.votes.add(&f, false)
	}
}
