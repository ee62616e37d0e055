// SPDX-License-Identifier: Apache-2.0

package heuristics

import "prywalk/frames"

func (a *analysis) frame(q frames.Query) (finding, bool) {
	if a.src.opt.JIT && !q.AfterCall {
		if f, ok := a.calleeMakesFrame(q.PC); ok {
			return f, true
		}
	}
	fn, known := a.src.boundsOf(q)
	if !known {
		v := a.searchEpilogues(q.PC, q.AfterCall, everywhere, acceptedEnds{})
		f, _ := v.best()
		if f != nil {
			return a.epilogueOnly(f, q)
		}
		if a.src.opt.Arch != frames.X86_64 {
			return finding{}, false
		}
		return a.frameAtDispatch(q, everywhere, dispatchByTable) // of V8's builtins without symbols
	}
	if a.savesFPOnly(q) && !q.SPOnly {
		v := a.searchEpilogues(q.PC, q.AfterCall, fn, acceptedEnds{ownConvention: true})
		if v.showsWholeFrame(a.abi) {
			return v.outcomes[0].finding, true
		}
	}
	v := *a.searchEpilogues(q.PC, q.AfterCall, fn, acceptedEnds{})
	if parts, ok := a.src.opt.Funcs.(Parts); ok {
		if lo, hi, ok := parts.Parent(fn.lo); ok {
			return a.splitPartFrame(q, &v, fn, span{lo, hi})
		}
	}
	p := a.searchPrologue(q, fn, span{})
	f, ok := a.combine(q, fn, &v, &p)
	if !ok && a.savesFPOnly(q) {
		return a.frameOfBuiltin(q, fn, &p)
	}
	return f, ok
}

// frameOfBuiltin returns the frame of the prologue p in code that saves the frame pointer only. Its callees may pop
// arguments that it has pushed. Code that makes its caller's frame stands in that frame: the caller is left out.
func (a *analysis) frameOfBuiltin(q frames.Query, fn span, p *prologue) (finding, bool) {
	if !p.found || p.guessed {
		return finding{}, false
	}
	f, ok := p.finding(q.SPOnly)
	if sure := !p.st.madeCalls || f.cfa.base == a.abi.fp || f.cfa == a.abi.cfaAtEntry(); !ok || !sure {
		return finding{}, false
	}
	a.begin(fn.lo, fn)
	switch {
	case a.makesCallersFrame(fn.lo):
		f.cfa = f.cfa.plus(8)
	case a.abi.ra == noReg && p.st.startWordPopped: // perhaps pushed again, behind arguments
		slot, ok := p.st.returnSlot()
		if !ok {
			return finding{}, false
		}
		f.cfa = startValue(a.abi.sp).plus(int64(slot.off) + 8 - int64(p.st.regs[a.abi.sp].off))
	}
	return f, a.abi.mayBeCFA(f.cfa)
}

func (a *analysis) savesFPOnly(q frames.Query) bool {
	c, ok := a.src.opt.Funcs.(Conventions)
	return ok && c.SavesFPOnly(q.LookupPC(a.src.opt.Arch))
}

// splitPartFrame returns the frame at the jump into the part. An exception's landing pad has none: its returns decide,
// else the frame at the function's calls.
func (a *analysis) splitPartFrame(q frames.Query, v *votes, part, parent span) (finding, bool) {
	p := a.searchPrologue(q, parent, part)
	if p.found && !p.guessed {
		if atJump, ok := p.finding(q.SPOnly); ok {
			return atJump, true
		}
	}
	epilogue, _ := v.best()
	switch {
	case epilogue != nil:
		return a.epilogueOnly(epilogue, q)
	case p.calls.count > 0 && !a.isEntry(part):
		p.st = p.calls.st
		return p.finding(q.SPOnly)
	}
	p = a.searchPrologue(q, part, span{}) // as of a function
	return a.combine(q, part, v, &p)
}

// combine chooses between the finding of the epilogues (v) and that of the prologue (p).
func (a *analysis) combine(q frames.Query, fn span, v *votes, p *prologue) (finding, bool) {
	epilogue, sure := v.best() // nil means none
	if !p.found {
		return a.epilogueOnly(epilogue, q)
	}
	own, ok := p.finding(q.SPOnly)
	switch {
	case !ok && !p.guessed && v.strong == 0: // no register gives the CFA, no return: V8's handlers
		return a.handlerFrame(q, fn, nil, nil)
	case !ok: // the frame pointer alone gives the CFA, or paths differ in the stack pointer: vfprintf of glibc
		return a.epilogueOnly(epilogue, q)
	case epilogue == nil:
		return a.frameWithoutReturns(q, fn, v, p, &own)
	case p.agrees(epilogue, &own):
		p.merge(epilogue, &own)
		return own, true
	case sure && (p.guessed || !a.isEntry(fn)): // landing pads of exceptions; parts split off that return
		return a.epilogueOnly(epilogue, q)
	}
	return own, true // epilogues differ among themselves, or from a function's own start
}

// frameWithoutReturns is combine where no path votes. f is the frame that the prologue p shows.
func (a *analysis) frameWithoutReturns(q frames.Query, fn span, v *votes, p *prologue, f *finding) (finding, bool) {
	switch {
	case v.hasMisaligned && p.agrees(&v.misaligned, f):
		// GCC calls functions of the same unit without aligning the stack: sqlite3VdbeIntegerAffinity.
		return *f, true
	case a.isEntry(fn): // a function that never returns
		return *f, true
	}
	return a.handlerFrame(q, fn, p, f) // V8's byte code handlers; parts split off that throw an exception
}

// epilogueOnly returns what the epilogues show, if that is what q asks for. f may be nil.
func (a *analysis) epilogueOnly(f *finding, q frames.Query) (finding, bool) {
	if f == nil || q.SPOnly && f.cfa.base != a.abi.sp {
		return finding{}, false
	}
	return *f, true
}

// agrees reports whether an epilogue's frame has the same CFA as own, the frame that the prologue shows.
func (p *prologue) agrees(epilogue, own *finding) bool {
	if epilogue.cfa == own.cfa {
		return true
	}
	v := p.st.regs[epilogue.cfa.base&31]
	return epilogue.cfa.kind == startRelative && v.isRelativeTo(p.abi.sp) &&
		int64(v.off)+int64(epilogue.cfa.off) == p.abi.entry
}

// merge adds to own the places of registers that an epilogue restores. Precondition: both have the same CFA.
func (p *prologue) merge(epilogue, own *finding) {
	for i := range p.abi.calleeSaved {
		p.mergeSaved(epilogue.calleeSaved[i], own.cfa.base, &own.calleeSaved[i])
	}
	if p.abi.ra != noReg {
		if own.ra == lost {
			own.ra = epilogue.ra
		}
		p.mergeSaved(epilogue.ra, own.cfa.base, &own.ra)
	}
}

func (p *prologue) mergeSaved(restored frames.RegRule, base uint8, place *frames.RegRule) {
	if !isInMemory(restored) || isInMemory(*place) {
		return
	}
	if restored.Reg == base {
		*place = restored
		return
	}
	old, now := p.st.regs[restored.Reg], p.st.regs[base]
	if old.kind == startRelative && now.isRelativeTo(old.base) {
		*place = inMemory(base, int32(restored.Off)+old.off-now.off)
	}
}

// isEntry reports whether fn begins with a function, not with a part split off.
func (a *analysis) isEntry(fn span) bool {
	v := a.searchEpilogues(fn.lo, false, fn, acceptedEnds{})
	if f, _ := v.best(); f != nil && v.strong > 0 {
		return f.cfa == a.abi.cfaAtEntry()
	}
	return !a.traits(fn).unlikeFunction
}
