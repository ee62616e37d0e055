// SPDX-License-Identifier: Apache-2.0

package heuristics

import "prywalk/frames"

// analyse finds the frame at q: by the search for the epilogue of JIT code, else forwards, and from the start if bounds
// are known.
func (s *Source) analyse(w *interpreter, q frames.Query) (finding, bool) {
	if s.opt.JIT && !q.Caller {
		if f, ok := w.calleeMakesFrame(q.PC); ok {
			return f, true
		}
	}
	lo, hi, known := s.bounds(q.LookupPC(s.opt.Arch))
	if s.savesFPOnly(q, known) && !q.SPOnly && s.abi.findEpilogue != nil {
		if f, ok := s.abi.findEpilogue(w, q.PC, q.Caller); ok {
			return f, true
		}
	}
	if !known {
		v := w.analyseForward(q.PC, q.Caller, 0, ^uint64(0))
		if v.outcomeCount == 0 {
			if w.helpersReturn(&v) {
				return s.forwardOnly(&v.misaligned, q)
			}
			return s.unboundedHandlerFrame(w, q)
		}
		f, _ := v.best()
		return s.forwardOnly(f, q)
	}
	v := w.analyseForward(q.PC, q.Caller, lo, hi)
	if parts, ok := s.opt.Funcs.(Parts); ok {
		if plo, phi, ok := parts.Parent(lo); ok {
			return s.splitPartFrame(w, q, &v, span{lo, hi}, span{plo, phi})
		}
	}
	p := w.analysePrologue(q.PC, q.Caller, q.SPOnly, span{lo, hi}, span{})
	return s.combineFindings(w, q, &v, &p)
}

// savesFPOnly reports whether the code keeps only the frame pointer: JIT code of unknown bounds, V8's builtins.
func (s *Source) savesFPOnly(q frames.Query, known bool) bool {
	if s.opt.JIT {
		return !known
	}
	c, ok := s.opt.Funcs.(Conventions)
	return ok && c.SavesFPOnly(q.LookupPC(s.opt.Arch))
}

// splitPartFrame gives the frame of a part split off a function: that at the jump into it. An exception's landing pad
// has none: its returns decide, else the frame at the function's calls.
func (s *Source) splitPartFrame(w *interpreter, q frames.Query, v *votes, part, parent span) (finding, bool) {
	f, _ := v.best()
	p := w.analysePrologue(q.PC, q.Caller, q.SPOnly, parent, part)
	if p.found && !p.weak {
		if g, ok := p.finding(s.abi, q.SPOnly, q.Caller); ok {
			if f != nil && s.isConsistent(&p, f, &g) {
				p.merge(s.abi, f, &g)
			}
			return g, true
		}
	}
	if f != nil {
		return s.forwardOnly(f, q)
	}
	if p.calls.count == 0 || s.isEntry(w, q) {
		p = w.analysePrologue(q.PC, q.Caller, q.SPOnly, part, span{})
		return s.combineFindings(w, q, v, &p)
	}
	p.st = p.calls.st
	return p.finding(s.abi, q.SPOnly, q.Caller)
}

// combineFindings decides between f, what the paths from q.PC to a return show, and g, what the paths from the
// function's start to q.PC show. f may be nil, and g missing (not ok).
func (s *Source) combineFindings(w *interpreter, q frames.Query, v *votes, p *prologue) (finding, bool) {
	f, sure := v.best()
	if !p.found {
		return s.forwardOnly(f, q)
	}
	g, ok := p.finding(s.abi, q.SPOnly, q.Caller)
	switch {
	case !ok && !p.weak && v.exact == 0: // no g, and the paths from here prove nothing
		return s.handlerFrame(w, q, nil, nil)
	case !ok: // no g
		return s.forwardOnly(f, q)
	case f == nil && (v.hasMisaligned && s.isConsistent(p, &v.misaligned, &g) || s.isEntry(w, q)): // only g, confirmed
		return g, true
	case f == nil: // only g
		return s.handlerFrame(w, q, p, &g)
	case s.isConsistent(p, f, &g): // they agree
		p.merge(s.abi, f, &g)
		return g, true
	case sure && (p.weak || !s.isEntry(w, q)): // they disagree, and f is the surer one
		return s.forwardOnly(f, q)
	}
	return g, true // they disagree, and g is the surer one
}

// merge adds the places of registers that the code restores later. Precondition: f and g have the same CFA.
func (p *prologue) merge(a *abi, f, g *finding) {
	for i := range a.calleeSaved {
		p.mergeSaved(a, f.calleeSaved[i], g, &g.calleeSaved[i])
	}
	if a.ra != noReg {
		if g.ra.kind == lost {
			g.ra = f.ra
		}
		p.mergeSaved(a, f.ra, g, &g.ra)
	}
}

// mergeSaved replaces to, if not in memory, by from, relative to the register of g's CFA.
func (p *prologue) mergeSaved(a *abi, from savedReg, g *finding, to *savedReg) {
	if from.kind != inMemory || to.kind == inMemory || from.base >= firstUnnamedBase {
		return
	}
	if from.base == g.cfa.base {
		*to = from
		return
	}
	b, by := p.st.regs[from.base], p.st.regs[g.cfa.base]
	if b.kind == startRelative && by.kind == startRelative && b.base == by.base {
		*to = savedReg{inMemory, g.cfa.base, from.off + b.off - by.off}
	}
}

func (s *Source) forwardOnly(f *finding, q frames.Query) (finding, bool) {
	if f == nil || q.SPOnly && f.cfa.base != s.abi.sp {
		return finding{}, false
	}
	return *f, true
}

func (s *Source) isConsistent(p *prologue, f, g *finding) bool {
	if f.cfa == g.cfa {
		return true
	}
	v := p.st.regs[f.cfa.base&31]
	return f.cfa.kind == startRelative && v.kind == startRelative && v.base == s.abi.sp &&
		int64(v.off)+int64(f.cfa.off) == s.abi.entry
}

// isEntry reports whether the code of q begins with a function, not with a part split off: its returns fit, else its
// calls are aligned and it reads no register that only its caller can have set.
func (s *Source) isEntry(w *interpreter, q frames.Query) bool {
	lo, hi, ok := s.bounds(q.LookupPC(s.opt.Arch))
	if !ok {
		return false
	}
	v := w.analyseForward(lo, false, lo, hi)
	if f, _ := v.best(); f != nil && v.exact > 0 {
		return f.cfa == startValue(s.abi.sp).plus(s.abi.entry)
	}
	return !w.traits(lo, hi).unlikeFunction
}
