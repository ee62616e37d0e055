// SPDX-License-Identifier: Apache-2.0

package frames

// # Registers found on the stack
//
// A passive read lacks the frame pointer, which frames with an array of variable length need. But the return address is
// directly below the CFA: each stack word that follows a call is a candidate, and gives the register.
//
//	higher  ┌──────────────────────┐
//	        │ caller's frame       │
//	CFA ──► ├──────────────────────┤
//	        │ return address       │ ◄── candidate: a word that follows a call
//	        │ caller's rbp         │ ◄── frame pointer, by the candidate's place
//	        │ array, any length    │
//	lower   └──────────────────────┘ ◄── stack pointer
//
// A candidate is accepted if it is proven and unique:
//
//   - the call before it calls this function directly, or is the one that a thread begins with;
//   - a walk from there reaches a thread's first function;
//   - each return address on the way follows a call that can have led to its callee;
//   - no other candidate fulfils these. A stale chain within the array can: it differs where it would join the live
//     one. In recursion neither is accepted.
//
// Else the walk ends as unproven: for a function called by pointer from a place that also calls others, or reached by a
// tail call ([TailCalls]).
//
// Source: System V ABI for x86-64, §3.2.2.

const (
	maxSearchBytes = 256 << 10 // bytes of stack searched
	maxSearchSteps = 20000     // frames walked by one search's trials, and words compared
	maxSearches    = 4         // in one walk
	maxCandidates  = 8         // with a whole chain
)

// callFit is how a return address fits its callee: by the call before it.
type callFit uint8

const (
	fitNone     callFit = iota // none
	fitOther                   // follows a call of another function
	fitTailCall                // follows a call of another function, which may end in a jump to this one
	fitIndirect                // follows an indirect call
	fitDirect                  // follows a call of this function
)

type candidate struct {
	at  Addr
	reg uint64 // the register's value then
	fit callFit
	// calledOnce: the C library makes the call once in a thread's life, in the two outermost frames, or three if the
	// program's entry point is in another module.
	calledOnce bool
}

// registerSearch is the state of one search.
type registerSearch struct {
	trial      Walker
	candidates [maxCandidates]candidate
	n          int
	steps      int
	cut        Addr // word beyond the copy that a direct call's trial lacked; 0: none
}

type registerSearches struct {
	current *registerSearch
	begun   int  // searches in this walk
	proven  int  // registers found
	isTrial bool // this walk is a search's trial
}

// ProvenRegs returns the number of registers found on the stack and proven.
func (w *Walker) ProvenRegs() int { return w.proven }

// searchRegister finds the register of a rule's CFA. StopUnproven: no value is proven. StopStackCut: the copy may be
// too short.
func (w *Walker) searchRegister(r *Rule) StopReason {
	info := w.regs.Arch.info()
	if w.isTrial || w.snap == nil || w.begun >= maxSearches {
		return StopUnproven
	}
	if !info.raOnStack || r.Flags&(FlagSignal|FlagStackSwitch) != 0 {
		return StopUnproven
	}
	w.begun++
	f := w.Frame()
	start, known := w.space.funcStart(f.LookupPC(w.regs.Arch))
	off, reg, deref, ok := w.space.cfaBase(r)
	if !known || !ok {
		return StopUnproven
	}
	if w.current == nil {
		w.current = &registerSearch{}
	}
	s := w.current
	s.n, s.steps, s.cut = 0, 0, 0
	ok = s.collect(w, reg, off, deref, start)
	if s.cut != 0 {
		w.unreadAddr = s.cut
		return StopStackCut
	}
	if !ok {
		return StopUnproven
	}
	best, ok := s.best(w, reg)
	if !ok {
		return StopUnproven
	}
	w.regs.Set(reg, best.reg)
	w.proven++
	return StopNone
}

// cfaBase returns register and offset of the CFA; with deref, of the word that has it. Not ok if the return address is
// not directly below the CFA.
func (s *Space) cfaBase(r *Rule) (off int64, reg uint8, deref, ok bool) {
	if r.Flags&FlagRow == 0 {
		return int64(r.CFAOff), r.CFAReg % NumRegs, false, true
	}
	row := s.rows[r.row()]
	if row.CFAExpr != nil || row.CFAReg >= NumRegs || row.RA.Kind != RuleOffset || row.RA.Off != -8 {
		return 0, 0, false, false
	}
	return row.CFAOff, row.CFAReg, row.CFADeref, true
}

// collect finds all candidates; false if too many, or it takes too long.
func (s *registerSearch) collect(w *Walker, reg uint8, off int64, deref bool, start Addr) bool {
	stack := &w.snap.Stack
	sp := w.regs.SP()
	end := stack.Addr + uint64(len(stack.Bytes))
	for at := sp; at+8 <= end; at += 8 {
		v, ok := stack.word(at)
		if !ok || at-sp > maxSearchBytes {
			return false // the copy ends before the thread's first function
		}
		l := w.space.callFitOf(v, start, true)
		if l < fitTailCall {
			continue
		}
		cfa := at + 8
		if !deref {
			if !s.tryCandidate(w, candidate{at: at, reg: cfa - uint64(off), fit: l}, reg) {
				return false
			}
			continue
		}
		for a := sp; a < at; a += 8 {
			s.steps++
			v, _ := stack.word(a)
			if s.steps > maxSearchSteps || v == cfa && !s.tryCandidate(w, candidate{at: at, reg: a - uint64(off), fit: l}, reg) {
				return false
			}
		}
	}
	return true
}

// tryCandidate keeps a candidate that leads to the thread's first function; false if there is no room or time.
func (s *registerSearch) tryCandidate(w *Walker, c candidate, reg uint8) bool {
	whole := s.reachesRoot(w, &c, reg, nil)
	if s.steps > maxSearchSteps {
		return false
	}
	if !whole {
		return true
	}
	if s.n == len(s.candidates) {
		return false
	}
	s.candidates[s.n] = c
	s.n++
	return true
}

// reachesRoot reports whether a walk with a candidate's register reaches the thread's first function by proven return
// addresses, and passes the place of each to a non-nil to.
func (s *registerSearch) reachesRoot(w *Walker, c *candidate, reg uint8, to func(at Addr)) bool {
	t := &s.trial
	t.MaxDepth, t.isTrial = w.limit, true
	t.Init(w.space, &w.regs, w.mem)
	t.regs.Set(reg, c.reg)
	t.enter(w.method, w.caller)
	t.key = 0
	if !t.Next() {
		return false
	}
	var mods [2]*Module // of the last two frames
	for {
		f := t.Frame()
		start, known := t.space.funcStart(f.LookupPC(t.regs.Arch))
		mods[0], mods[1] = mods[1], f.Module
		if !t.Next() {
			break
		}
		g := t.Frame()
		at := g.SP - 8
		switch {
		case t.depth == 2:
			if at != c.at {
				return false
			}
		case g.Caller && t.space.callFitOf(g.PC, start, known) < fitTailCall: // else interrupted by a signal
			return false
		}
		if s.steps++; s.steps > maxSearchSteps {
			return false
		}
		if to != nil {
			to(at)
		}
	}
	// without this frame, its caller, and the last call of Next
	rest := t.depth - 3
	c.calledOnce = rest <= 1 || rest == 2 && mods[0] != mods[1]
	if c.fit == fitDirect && t.StopReason() == StopStackCut {
		s.cut = t.UnreadAddr()
	}
	// a return address of 0 proves no end: cleared memory has many
	last := &t.space.lookup(t.regs.PC, t.caller, false).rule
	return t.StopReason() == StopRoot && rest >= 0 && last.Flags&FlagRoot != 0
}

// best returns the only proven candidate; false if none, or several.
func (s *registerSearch) best(w *Walker, reg uint8) (candidate, bool) {
	found := s.candidates[:s.n]
	best := -1
	for i := range found {
		if found[i].fit == fitDirect {
			if best >= 0 {
				return candidate{}, false
			}
			best = i
		}
	}
	if best < 0 && s.n > 0 && found[0].fit == fitIndirect && found[0].calledOnce {
		best = 0
	}
	if best < 0 {
		return candidate{}, false
	}
	// Others further out on the best one's chain do not contradict if the call there can lead here in two ways, or by
	// pointer.
	others := s.n - 1
	s.reachesRoot(w, &found[best], reg, func(at Addr) {
		for i := range found {
			if c := &found[i]; i != best && c.at == at && (c.fit == fitTailCall || c.calledOnce) {
				others--
			}
		}
	})
	return found[best], others == 0
}

// callFitOf classifies the word v as a return address of the function at start, valid if known.
func (s *Space) callFitOf(v, start Addr, known bool) callFit {
	if v < 4096 || s.moduleIndex(v-1) < 0 {
		return fitNone
	}
	call, ok := s.callBefore(v)
	switch {
	case !ok:
		return fitNone
	case !call.Direct || !known:
		return fitIndirect
	case call.Target == start:
		return fitDirect
	case s.mayTailCall(call.Target):
		return fitTailCall
	}
	return fitOther
}
