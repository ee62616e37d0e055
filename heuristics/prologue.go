// SPDX-License-Identifier: Apache-2.0

package heuristics

type prologue struct {
	st          symbolicState // at pc
	found       bool          // st is valid
	weak        bool          // no path led to pc: st is that of most jump tables, or of most calls
	caller      bool          // pc is a return address
	ambiguousSP bool          // paths lead to pc with different stack pointers
	beforeCall  [32]value     // registers before the call that ends at pc, if caller is set

	tables, calls majority
}

// majority finds the state with the most frequent stack pointer (Boyer and Moore).
type majority struct {
	st    symbolicState
	count int
}

func (m *majority) add(st *symbolicState) {
	switch {
	case m.count == 0:
		m.st.copyFrom(st)
		m.count = 1
	case m.st.regs[st.sp] == st.regs[st.sp]:
		m.count++
		if st.nslots > m.st.nslots {
			m.st.copyFrom(st)
		}
	default:
		m.count--
	}
}

// analysePrologue follows fn from its start to pc, and into part, which was split off. With caller, pc is behind a
// call. With spOnly the result must hold for all paths.
func (w *interpreter) analysePrologue(pc uint64, caller, spOnly bool, fn, part span) prologue {
	p := w.analysePrologueAlong(pc, caller, fn, part, false)
	if fp := p.st.regs[w.src.abi.fp]; spOnly && p.found && !p.weak && fp.kind == startRelative && fp.base == w.src.abi.sp {
		// Only code with a frame pointer may have a stack pointer that depends on the path.
		p = w.analysePrologueAlong(pc, caller, fn, part, true)
	}
	if !p.found {
		p.guessByMajority()
	}
	return p
}

type prologueAnalysis struct {
	*interpreter
	spans        [2]span // the function, and the part split off
	allPaths     bool    // follow all paths, again with another stack pointer (arrive)
	movedUnknown bool    // a path moved the stack pointer by an unknown amount
	result       prologue
}

// analysePrologueAlong ends at the first path that reaches pc, with allPaths behind all.
func (w *interpreter) analysePrologueAlong(pc uint64, caller bool, fn, part span, allPaths bool) prologue {
	w.begin(fn.lo, fn.lo, fn.hi)
	a := prologueAnalysis{interpreter: w, spans: [2]span{fn, part}, allPaths: allPaths}
	p := &a.result
	p.caller = caller
	for w.steps < maxSteps && !a.ended() {
		a.followPath(pc)
		if !w.pop() && (p.found || !w.resume()) {
			break
		}
	}
	p.ambiguousSP = p.ambiguousSP || allPaths && a.movedUnknown && (w.paths.dropped || w.steps >= maxSteps)
	return a.result
}

func (w *prologueAnalysis) ended() bool {
	return w.result.found && (!w.allPaths || w.result.ambiguousSP)
}

// push adds a path, unless one came to pc before; with allPaths, with the same stack pointer.
func (w *prologueAnalysis) push(pc uint64) {
	if v := w.visited.find(pc); v != nil && (!w.allPaths || v.sp == mixedSP || v.sp == w.st.spKey()) {
		return
	}
	w.paths.push(&w.st, pc)
}

// span is a range of code, hi excluded.
type span struct{ lo, hi uint64 }

func (w *prologueAnalysis) spanOf(pc uint64) span {
	for _, s := range w.spans {
		if pc >= s.lo && pc < s.hi {
			return s
		}
	}
	return span{}
}

func (w *prologueAnalysis) pushInto(pc uint64, to span) {
	n := w.paths.npending
	if w.push(pc); w.paths.npending > n {
		w.paths.pending[n].lo, w.paths.pending[n].hi = to.lo, to.hi
	}
}

func (p *prologue) noteReached(st *symbolicState) {
	if p.found {
		p.ambiguousSP = p.ambiguousSP || p.st.regs[st.sp] != st.regs[st.sp]
		return
	}
	p.st.copyFrom(st)
	p.found = true
}

// mixedSP marks an instruction that paths reach with different stack pointers.
const mixedSP = ^uint32(0)

func (st *symbolicState) spKey() uint32 {
	v := st.regs[st.sp]
	return (uint32(v.off)*0x9e3779b1 + uint32(v.base)<<8 + uint32(v.kind)) &^ 1
}

// visit marks the instruction at pc, and reports whether the path goes on. With allPaths, a path with another stack
// pointer visits it once more, with an unknown one; behind a call it ends: the call does not return.
func (w *prologueAnalysis) visit() bool {
	st := &w.st
	w.movedUnknown = w.movedUnknown || st.regs[st.sp].base >= firstUnnamedBase
	key := st.spKey()
	if w.markVisited(st.pc) {
		w.visited.find(st.pc).sp = key
		return true
	}
	if !w.allPaths {
		return false
	}
	at := w.visited.find(st.pc)
	if at.sp == mixedSP || at.sp == key || st.afterCall {
		return false
	}
	at.sp, w.movedUnknown = mixedSP, true
	st.regs[st.sp] = st.newUnnamedBase()
	return true
}

// guessByMajority takes the state of most jump tables, else of most calls: only a jump table or an exception leads to
// pc.
func (p *prologue) guessByMajority() {
	for _, m := range [...]*majority{&p.tables, &p.calls} {
		if m.count > 0 {
			p.st, p.found, p.weak = m.st, true, true
			return
		}
	}
}

func (w *prologueAnalysis) followPath(pc uint64) {
	st, p := &w.st, &w.result
	for w.steps < maxSteps && st.pc >= st.lo && st.pc < st.hi && !w.ended() {
		if st.afterCall && w.paths.hasOtherSP(st) {
			return
		}
		if st.afterCall && st.padded && st.pc%8 == 0 {
			// The call may not return: other paths to this place go first.
			w.postpone(st.pc, st.lo, st.hi)
			return
		}
		code := w.code(st.pc)
		if len(code) == 0 || !w.visit() {
			return
		}
		if st.pc == pc && !p.caller {
			p.noteReached(st)
		}
		w.steps++
		if p.caller && !p.found && pc-st.pc-1 < maxCallX86 {
			p.beforeCall = st.regs
		}
		f := w.exec(code)
		st.noteNoReturn(f)
		st.pc += uint64(f.size)
		if st.pc == pc && p.caller && f.kind == flowCall {
			p.noteReached(st)
		}
		if !w.follow(f) {
			return
		}
	}
}

func (w *prologueAnalysis) follow(f *flow) bool {
	st, p := &w.st, &w.result
	target := st.pc + f.target
	switch f.kind {
	case flowCall:
		st.afterCall, st.madeCalls = true, true
		p.calls.add(st)
	case flowCond:
		if target >= st.lo && target < st.hi {
			w.push(target)
		} else if to := w.spanOf(target); to.lo < to.hi {
			w.pushInto(target, to)
		}
	case flowJump:
		st.enter(target)
		if to := w.spanOf(target); to.lo < to.hi {
			st.lo, st.hi = to.lo, to.hi
		}
	case flowIndirect:
		p.noteIndirectJump(st)
		return false
	case flowReturn, flowTail, flowEnd:
		return false
	}
	return true
}

// noteIndirectJump notes a jump by a jump table, or, with the stack pointer as at the start, a tail call, which counts
// as a call.
func (p *prologue) noteIndirectJump(st *symbolicState) {
	if st.regs[st.sp].isStartValue(st.sp) {
		p.calls.add(st)
		return
	}
	p.tables.add(st)
}
