package heuristics

import "prywalk/frames"

// analyse finds the caller at q.
func (s *Source) analyse(w *walk, q frames.Query) (found, bool) {
	if f := &w.shown; s.o.JIT && !q.Caller && w.calleeMakesFrame(q.PC, f) {
		return *f, true
	}
	lo, hi, known := s.bounds(q.Lookup(s.o.Arch))
	if f := &w.shown; s.keepsFPOnly(q, known) && !q.SPOnly && s.abi.prove != nil && s.abi.prove(w, q.PC, q.Caller, f) {
		return *f, true
	}
	if !known {
		w.forward(q.PC, q.Caller, 0, ^uint64(0))
		if w.votes.n == 0 {
			return s.boundless(w, q)
		}
		return s.choose(w, q, nil)
	}
	w.forward(q.PC, q.Caller, lo, hi)
	if parts, ok := s.o.Funcs.(Parts); ok {
		if plo, phi, ok := parts.Parent(lo); ok {
			return s.inPart(w, q, span{lo, hi}, span{plo, phi})
		}
	}
	p := w.prologue(q.PC, q.Caller, q.SPOnly, span{lo, hi}, span{})
	return s.choose(w, q, p)
}

// keepsFPOnly reports whether q is in code that keeps no register but the frame pointer, and whose first path to a return
// is to be tried before all others: that of JIT compilers if its bounds are not known, and V8's builtins.
func (s *Source) keepsFPOnly(q frames.Query, known bool) bool {
	if s.o.JIT {
		return !known
	}
	c, ok := s.o.Funcs.(Conventions)
	return ok && c.KeepsFPOnly(q.Lookup(s.o.Arch))
}

// inPart is for a part that was split off a function: its frame is what the function's
// own instructions have made by the jump that leads into the part. No jump leads into a
// landing pad of exceptions: if such a part returns, its returns tell; else its frame is
// that of the function's calls.
func (s *Source) inPart(w *walk, q frames.Query, part, parent span) (found, bool) {
	var copied, g found
	f, _ := w.votes.winner()
	if f != nil {
		copied = *f // the part may be walked again, over the votes
		f = &copied
	}
	p := w.prologue(q.PC, q.Caller, q.SPOnly, parent, part)
	if p.found && !p.weak && p.express(s.abi, &g, q.SPOnly, q.Caller) {
		if f != nil && s.agree(p, f, &g) {
			p.merge(s.abi, f, &g)
		}
		return g, true
	}
	if f != nil {
		return s.forwardOnly(f, q)
	}
	calls := p.calls // isEntry counts others
	if calls.count == 0 || s.isEntry(w, q) {
		return s.choose(w, q, w.prologue(q.PC, q.Caller, q.SPOnly, part, span{}))
	}
	p.st = calls.st
	ok := p.express(s.abi, &g, q.SPOnly, q.Caller)
	return g, ok
}

// choose combines both analyses; p is nil where the function's start is not
// known.
func (s *Source) choose(w *walk, q frames.Query, p *prologue) (found, bool) {
	var copied found // isEntry walks again, over the votes
	f, sure := w.votes.winner()
	if f != nil {
		copied = *f
		f = &copied
	}
	if p == nil || !p.found {
		return s.forwardOnly(f, q)
	}
	var g found
	if !p.express(s.abi, &g, q.SPOnly, q.Caller) {
		if !p.weak && w.votes.exact == 0 {
			return s.handler(w, q, nil) // the paths to here are known, those from here are doubtful
		}
		return s.forwardOnly(f, q)
	}
	if f == nil || s.agree(p, f, &g) {
		if f == nil && !(w.votes.hasOdd && s.agree(p, &w.votes.odd, &g)) && !s.isEntry(w, q) {
			return s.handler(w, q, &g)
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

// merge takes the places of registers that are restored further on, which proves
// them, where the two analyses agree on the CFA.
func (p *prologue) merge(a *abi, f, g *found) {
	for i := range a.kept {
		p.mergePlace(a, f.kept[i], g, &g.kept[i])
	}
	if a.ra != noReg {
		if g.ra.kind == lost {
			g.ra = f.ra
		}
		p.mergePlace(a, f.ra, g, &g.ra)
	}
}

// mergePlace replaces a place unless it is in memory already, converting it to
// the register that g is given by.
func (p *prologue) mergePlace(a *abi, from place, g *found, to *place) {
	if from.kind != inMemory || to.kind == inMemory || from.base >= firstAnon {
		return
	}
	if from.base == g.cfa.base {
		*to = from
		return
	}
	b, by := p.st.regs[from.base], p.st.regs[g.cfa.base]
	if b.kind == initial && by.kind == initial && b.base == by.base {
		*to = place{inMemory, g.cfa.base, from.off + b.off - by.off}
	}
}

// forwardOnly gives the forward analysis's result.
func (s *Source) forwardOnly(f *found, q frames.Query) (found, bool) {
	if f == nil || q.SPOnly && f.cfa.base != s.abi.sp {
		return found{}, false
	}
	return *f, true
}

// agree reports whether both analyses give the same CFA.
func (s *Source) agree(p *prologue, f, g *found) bool {
	if f.cfa == g.cfa {
		return true
	}
	v := p.st.regs[f.cfa.base&31]
	return f.cfa.kind == initial && v.kind == initial && v.base == s.abi.sp &&
		int64(v.off)+int64(f.cfa.off) == s.abi.entry
}

// isEntry reports whether a function begins at the start of the code around q,
// rather than a part of one that the compiler split off: its returns fit, or,
// if it has none, its calls are aligned as a function's and it reads no register
// that only its caller can have set.
func (s *Source) isEntry(w *walk, q frames.Query) bool {
	lo, hi, ok := s.bounds(q.Lookup(s.o.Arch))
	if !ok {
		return false
	}
	w.forward(lo, false, lo, hi)
	if f, _ := w.votes.winner(); f != nil && w.votes.exact > 0 {
		return f.cfa == start(s.abi.sp).plus(s.abi.entry)
	}
	return !w.manner(lo, hi).odd
}
