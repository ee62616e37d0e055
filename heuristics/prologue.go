// SPDX-License-Identifier: Apache-2.0

package heuristics

// prologue is the state at pc in terms of the function's entry.
type prologue struct {
	st    state
	found bool
	// weak: pc was not reached; the state is the one that most of the function's
	// jump tables have, or most of its calls.
	weak bool
	// caller: pc is a return address.
	caller bool
	// mixed: other paths lead to pc with another stack pointer, so that the state
	// says nothing of it.
	mixed bool
	// before has, for a caller, what the registers were before its call.
	before [32]value

	tables, calls majority
}

// majority finds the state whose stack pointer most of those added have (the
// algorithm of Boyer and Moore).
type majority struct {
	st    state
	count int
}

func (m *majority) add(st *state) {
	switch {
	case m.count == 0:
		m.st.take(st)
		m.count = 1
	case m.st.regs[st.sp] == st.regs[st.sp]:
		m.count++
		if st.nslots > m.st.nslots {
			m.st.take(st)
		}
	default:
		m.count--
	}
}

// prologue follows the function from its start until it gets to pc; for a
// caller, to the call that ends at pc. Jumps to the part that was split off it are
// followed there, and back. With spOnly the stack pointer has to be the same on all paths.
func (w *interpreter) prologue(pc uint64, caller, spOnly bool, fn, part span) prologue {
	p := w.prologueAlong(pc, caller, fn, part, false)
	if fp := p.st.regs[w.src.abi.fp]; spOnly && p.found && !p.weak && fp.kind == initial && fp.base == w.src.abi.sp {
		// Only with a frame pointer can the compiler let the stack pointer
		// depend on the path.
		p = w.prologueAlong(pc, caller, fn, part, true)
	}
	if !p.found {
		p.guess()
	}
	return p
}

// prologueAnalysis follows the paths from a function's start.
type prologueAnalysis struct {
	*interpreter
	spans [2]span // the function, and the part that was split off it
	whole bool    // all paths are followed, see arrive
	moved bool    // on some path the stack pointer changed by an unknown amount
	to    prologue
}

// prologueAlong is prologue along the paths up to pc, or along all paths.
func (w *interpreter) prologueAlong(pc uint64, caller bool, fn, part span, whole bool) prologue {
	w.begin(fn.lo, fn.lo, fn.hi)
	a := prologueAnalysis{interpreter: w, spans: [2]span{fn, part}, whole: whole}
	p := &a.to
	p.caller = caller
	for w.steps < maxSteps && !a.ended() {
		a.followPath(pc)
		if !w.pop() && (p.found || !w.resume()) {
			break
		}
	}
	p.mixed = p.mixed || whole && a.moved && (w.paths.dropped || w.steps >= maxSteps)
	return a.to
}

// ended reports whether no more paths need to be followed.
func (w *prologueAnalysis) ended() bool { return w.to.found && (!w.whole || w.to.mixed) }

// push is [interpreter.push], also to where paths were before with another stack pointer if all are followed.
func (w *prologueAnalysis) push(pc uint64) {
	if v := w.seen.find(pc); v != nil && (!w.whole || v.sp == mixedSP || v.sp == w.st.spKey()) {
		return
	}
	w.paths.push(&w.st, pc)
}

// span is a run of addresses, hi excluded.
type span struct{ lo, hi uint64 }

// spanOf gives the piece of the function that an address is in, an empty one if none.
func (w *prologueAnalysis) spanOf(pc uint64) span {
	for _, s := range w.spans {
		if pc >= s.lo && pc < s.hi {
			return s
		}
	}
	return span{}
}

// pushInto is push for a path into another piece of the function.
func (w *prologueAnalysis) pushInto(pc uint64, to span) {
	n := w.paths.npending
	if w.push(pc); w.paths.npending > n {
		w.paths.pending[n].lo, w.paths.pending[n].hi = to.lo, to.hi
	}
}

// reach notes the state at pc.
func (p *prologue) reach(st *state) {
	if p.found {
		p.mixed = p.mixed || p.st.regs[st.sp] != st.regs[st.sp]
		return
	}
	p.st.take(st)
	p.found = true
}

// mixedSP marks an instruction that was reached with several stack pointers.
const mixedSP = ^uint32(0)

// spKey tells values of the stack pointer apart; it is never mixedSP.
func (st *state) spKey() uint32 {
	v := st.regs[st.sp]
	return (uint32(v.off)*0x9e3779b1 + uint32(v.base)<<8 + uint32(v.kind)) &^ 1
}

// arrive is mark, and where all paths are followed lets an instruction be visited a second time if the stack pointer
// is another one there. It is unknown from then on. A call whose other side was reached otherwise does not return.
func (w *prologueAnalysis) arrive() bool {
	st := &w.st
	w.moved = w.moved || st.regs[st.sp].base >= firstAnon
	key := st.spKey()
	if w.mark(st.pc) {
		w.seen.find(st.pc).sp = key
		return true
	}
	if !w.whole {
		return false
	}
	at := w.seen.find(st.pc)
	if at.sp == mixedSP || at.sp == key || st.afterCall {
		return false
	}
	at.sp, w.moved = mixedSP, true
	st.regs[st.sp] = st.fresh()
	return true
}

// guess takes the state of jump tables or calls for code that only a jump table
// or the handling of an exception leads to.
func (p *prologue) guess() {
	for _, m := range [...]*majority{&p.tables, &p.calls} {
		if m.count > 0 {
			p.st, p.found, p.weak = m.st, true, true
			return
		}
	}
}

// followPath follows w.st to its end, and notes how it comes to pc.
func (w *prologueAnalysis) followPath(pc uint64) {
	st, p := &w.st, &w.to
	for w.steps < maxSteps && st.pc >= st.lo && st.pc < st.hi && !w.ended() {
		if st.afterCall && w.paths.otherwise(st) {
			return
		}
		if st.afterCall && st.padded && st.pc%8 == 0 {
			// The call may not return; first see whether there is another
			// way to get here.
			w.postpone(st.pc, st.lo, st.hi)
			return
		}
		code := w.code(st.pc)
		if len(code) == 0 || !w.arrive() {
			return
		}
		if st.pc == pc && !p.caller {
			p.reach(st)
		}
		w.steps++
		if p.caller && !p.found && pc-st.pc-1 < maxCallX86 {
			p.before = st.regs
		}
		f := &w.fl
		w.src.abi.step(st, code, f)
		st.doubt(f)
		st.pc += uint64(f.size)
		if st.pc == pc && p.caller && f.kind == flowCall {
			p.reach(st)
		}
		if !w.turn(f) {
			return
		}
	}
}

// turn goes where the instruction leads, inside of the function.
func (w *prologueAnalysis) turn(f *flow) bool {
	st, p := &w.st, &w.to
	target := st.pc + f.target
	switch f.kind {
	case flowCall:
		st.afterCall, st.left = true, true
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
		p.indirect(st)
		return false
	case flowReturn, flowTail, flowEnd:
		return false
	}
	return true
}

// indirect notes the state at a jump to an unknown place. That is a jump table, unless the stack is as at the
// function's start, when it may as well be a tail call.
func (p *prologue) indirect(st *state) {
	if st.regs[st.sp].isStart(st.sp) {
		p.calls.add(st)
		return
	}
	p.tables.add(st)
}
