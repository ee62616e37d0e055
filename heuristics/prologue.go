package heuristics

import "math"

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

// arrive is mark, and where all paths are followed lets an instruction be visited a
// second time if the stack pointer is another one there; it is unknown from then on. A
// call whose other side was reached otherwise does not return.
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

// indirect notes the state at a jump to an unknown place: a jump table, unless
// the stack is as at the function's start, when it may as well be a tail call.
func (p *prologue) indirect(st *state) {
	if st.regs[st.sp].isStart(st.sp) {
		p.calls.add(st)
		return
	}
	p.tables.add(st)
}

// express gives the state at pc as a finding; false if no register gives the
// CFA.
func (p *prologue) express(a *abi, spOnly, caller bool) (f found, ok bool) {
	if spOnly && p.mixed {
		return f, false
	}
	reg, ok := p.base(a, spOnly, caller)
	if !ok {
		ok = p.aligned(a, &f, spOnly) || caller && !spOnly && p.untouched(a, &f)
		return f, ok
	}
	f.cfa = value{kind: initial, base: reg, off: int32(a.entry) - p.st.regs[reg].off}
	p.places(a, &f, reg)
	return f, true
}

// base chooses the register that the CFA is given by: the frame pointer where it
// is set up as one, the stack pointer, or, in the innermost frame, any other.
func (p *prologue) base(a *abi, spOnly, caller bool) (uint8, bool) {
	st := &p.st
	if fp := st.regs[a.fp]; !spOnly && fp.kind == initial && fp.base == a.sp && a.framesAt(st, fp) {
		return a.fp, true
	}
	if v := st.regs[a.sp]; v.kind == initial && v.base == a.sp {
		return a.sp, true
	}
	if spOnly {
		return 0, false
	}
	if v := st.regs[a.fp]; v.kind == initial && v.base == a.sp {
		return a.fp, true
	}
	for r := range uint8(len(st.regs)) {
		if v := st.regs[r]; v.kind == initial && v.base == a.sp && (!caller || a.keeps(r)) {
			return r, true
		}
	}
	return 0, false
}

// aligned finds the CFA in a slot of a frame that was aligned anew: gcc saves its
// dynamically realigned argument pointer there, OpenSSL's assembly the stack pointer
// of before, no lower than the registers that it has saved. Lower addresses are those of
// variables, pushed as arguments: the function that gets them may write there.
func (p *prologue) aligned(a *abi, f *found, spOnly bool) bool {
	best, lowest := int32(math.MaxInt32), p.st.lowestSave(a)
	for i := range p.st.nslots {
		s := &p.st.slots[i]
		if s.base < firstAnon || s.val.kind != initial || s.val.base != a.sp || s.val.off < lowest {
			continue
		}
		if s.off >= best || !p.st.live(s) {
			continue
		}
		for _, reg := range [...]uint8{a.sp, a.fp} {
			v := p.st.regs[reg]
			if v.kind == initial && v.base == s.base && (!spOnly || reg == a.sp) {
				// The innermost copy is the one that moves along with the stack.
				best = s.off
				f.cfa = value{kind: loaded, base: reg, off: s.off - v.off, add: int32(a.entry) - s.val.off}
				p.places(a, f, reg)
				break
			}
		}
	}
	if best == math.MaxInt32 {
		return false
	}
	p.placesAbove(a, f)
	return true
}

// untouched gives the CFA by a register that the call may have changed, if nothing else
// has it: OpenSSL's assembly keeps the stack pointer in rax while it calls helpers that
// leave that alone. The walker believes it only with proof.
func (p *prologue) untouched(a *abi, f *found) bool {
	if p.weak || a.ra != noReg { // with a link register that is needed, too
		return false
	}
	for r, v := range p.before {
		if v.kind == initial && v.base == a.sp && uint8(r) != a.sp {
			f.cfa = value{kind: initial, base: uint8(r), off: int32(a.entry) - v.off}
			for i := range f.kept {
				f.kept[i] = place{}
			}
			p.placesAbove(a, f)
			return true
		}
	}
	return false
}

// placesAbove finds the kept registers that were saved before the stack pointer was
// aligned: their distance to the CFA is known.
func (p *prologue) placesAbove(a *abi, f *found) {
	for i, r := range a.kept {
		if f.kept[i].kind == inMemory {
			continue
		}
		for _, s := range p.st.slots[:p.st.nslots] {
			if s.base == a.sp && s.val.isStart(r) {
				f.kept[i] = place{kind: inFrame, off: s.off - int32(a.entry)}
			}
		}
	}
}

// places tells where the kept registers are, by a register of known value.
func (p *prologue) places(a *abi, f *found, reg uint8) {
	for i, r := range a.kept {
		f.kept[i] = p.place(a, r, reg)
	}
	if a.ra != noReg {
		if f.ra = p.place(a, a.ra, reg); f.ra.kind == lost {
			f.ra = p.elsewhere(a, a.ra)
		}
	}
}

// elsewhere looks for a register's value of the start in memory that is not the function's own: swapcontext of arm64
// has its return address in the context only, which a register points to.
func (p *prologue) elsewhere(a *abi, r uint8) place {
	if p.caller { // the call may have changed all registers: the walker asks for proof
		for reg, v := range p.before {
			if v.isStart(r) && !p.weak && a.scratch>>reg&1 != 0 && uint8(reg) != r {
				return place{kind: inOther, base: uint8(reg)}
			}
		}
		return place{kind: lost}
	}
	for _, s := range p.st.slots[:p.st.nslots] {
		for reg := range uint8(len(p.st.regs)) {
			if v := p.st.regs[reg]; s.val.isStart(r) && s.base < firstAnon && v.kind == initial && v.base == s.base {
				return place{inMemory, reg, s.off - v.off}
			}
		}
	}
	return place{kind: lost}
}

// place prefers a slot to the register that still holds the value: the slot can
// be read when the registers are not known.
func (p *prologue) place(a *abi, r, reg uint8) place {
	st := &p.st
	by, sp := st.regs[reg], st.regs[a.sp]
	for _, s := range st.slots[:st.nslots] {
		if !s.val.isStart(r) || s.base != by.base {
			continue
		}
		if sp.kind == initial && sp.base == s.base && s.off < sp.off && st.regs[r].isStart(r) {
			continue
		}
		return place{inMemory, reg, s.off - by.off}
	}
	if st.regs[r].isStart(r) {
		return place{}
	}
	return place{kind: lost}
}
