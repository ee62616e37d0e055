// SPDX-License-Identifier: Apache-2.0

package heuristics

import "prywalk/frames"

// analyse finds the frame at q: by the short analysis for JIT code, else forwards, and from the start if bounds are
// known.
func (s *Source) analyse(w *interpreter, q frames.Query) (finding, bool) {
	if s.opt.JIT && !q.Caller {
		if f, ok := w.calleeMakesFrame(q.PC); ok {
			return f, true
		}
	}
	lo, hi, known := s.bounds(q.Lookup(s.opt.Arch))
	if s.keepsFPOnly(q, known) && !q.SPOnly && s.abi.prove != nil {
		if f, ok := s.abi.prove(w, q.PC, q.Caller); ok {
			return f, true
		}
	}
	if !known {
		v := w.forward(q.PC, q.Caller, 0, ^uint64(0))
		if v.outcomeCount == 0 {
			if w.helpersReturn(&v) {
				return s.forwardOnly(&v.misaligned, q)
			}
			return s.unboundedHandlerFrame(w, q)
		}
		f, _ := v.winner()
		return s.forwardOnly(f, q)
	}
	v := w.forward(q.PC, q.Caller, lo, hi)
	if parts, ok := s.opt.Funcs.(Parts); ok {
		if plo, phi, ok := parts.Parent(lo); ok {
			return s.partFrame(w, q, &v, span{lo, hi}, span{plo, phi})
		}
	}
	p := w.prologue(q.PC, q.Caller, q.SPOnly, span{lo, hi}, span{})
	return s.choose(w, q, &v, &p)
}

// keepsFPOnly reports whether the code keeps only the frame pointer: JIT code of unknown bounds, V8's builtins.
func (s *Source) keepsFPOnly(q frames.Query, known bool) bool {
	if s.opt.JIT {
		return !known
	}
	c, ok := s.opt.Funcs.(Conventions)
	return ok && c.KeepsFPOnly(q.Lookup(s.opt.Arch))
}

// partFrame gives the frame of a part split off a function: that at the jump into it. An exception's landing pad has
// none: its returns decide, else the frame at the function's calls.
func (s *Source) partFrame(w *interpreter, q frames.Query, v *votes, part, parent span) (finding, bool) {
	f, _ := v.winner()
	p := w.prologue(q.PC, q.Caller, q.SPOnly, parent, part)
	if p.found && !p.weak {
		if g, ok := p.finding(s.abi, q.SPOnly, q.Caller); ok {
			if f != nil && s.agree(&p, f, &g) {
				p.merge(s.abi, f, &g)
			}
			return g, true
		}
	}
	if f != nil {
		return s.forwardOnly(f, q)
	}
	if p.calls.count == 0 || s.isEntry(w, q) {
		p = w.prologue(q.PC, q.Caller, q.SPOnly, part, span{})
		return s.choose(w, q, v, &p)
	}
	p.st = p.calls.st
	return p.finding(s.abi, q.SPOnly, q.Caller)
}

func (s *Source) choose(w *interpreter, q frames.Query, v *votes, p *prologue) (finding, bool) {
	f, sure := v.winner()
	if !p.found {
		return s.forwardOnly(f, q)
	}
	g, ok := p.finding(s.abi, q.SPOnly, q.Caller)
	if !ok {
		if !p.weak && v.exact == 0 {
			return s.handlerFrame(w, q, nil, nil) // the paths from here prove nothing
		}
		return s.forwardOnly(f, q)
	}
	if f == nil || s.agree(p, f, &g) {
		if f == nil && !(v.hasMisaligned && s.agree(p, &v.misaligned, &g)) && !s.isEntry(w, q) {
			return s.handlerFrame(w, q, p, &g)
		}
		if f != nil {
			p.merge(s.abi, f, &g)
		}
		return g, true
	}
	if sure && (p.weak || !s.isEntry(w, q)) {
		return s.forwardOnly(f, q)
	}
	return g, true
}

// merge adds the places of registers that the code restores later. Precondition: f and g have the same CFA.
func (p *prologue) merge(a *abi, f, g *finding) {
	for i := range a.kept {
		p.mergeSaved(a, f.kept[i], g, &g.kept[i])
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
	if from.kind != inMemory || to.kind == inMemory || from.base >= firstAnon {
		return
	}
	if from.base == g.cfa.base {
		*to = from
		return
	}
	b, by := p.st.regs[from.base], p.st.regs[g.cfa.base]
	if b.kind == initial && by.kind == initial && b.base == by.base {
		*to = savedReg{inMemory, g.cfa.base, from.off + b.off - by.off}
	}
}

func (s *Source) forwardOnly(f *finding, q frames.Query) (finding, bool) {
	if f == nil || q.SPOnly && f.cfa.base != s.abi.sp {
		return finding{}, false
	}
	return *f, true
}

func (s *Source) agree(p *prologue, f, g *finding) bool {
	if f.cfa == g.cfa {
		return true
	}
	v := p.st.regs[f.cfa.base&31]
	return f.cfa.kind == initial && v.kind == initial && v.base == s.abi.sp &&
		int64(v.off)+int64(f.cfa.off) == s.abi.entry
}

// isEntry reports whether the code of q begins with a function, not with a part split off: its returns fit, else its
// calls are aligned and it reads no register that only its caller can have set.
func (s *Source) isEntry(w *interpreter, q frames.Query) bool {
	lo, hi, ok := s.bounds(q.Lookup(s.opt.Arch))
	if !ok {
		return false
	}
	v := w.forward(lo, false, lo, hi)
	if f, _ := v.winner(); f != nil && v.exact > 0 {
		return f.cfa == start(s.abi.sp).plus(s.abi.entry)
	}
	return !w.traits(lo, hi).unlikeFunction
}
