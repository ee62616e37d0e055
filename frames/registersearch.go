// SPDX-License-Identifier: Apache-2.0

package frames

// # Registers found on the stack
//
// A passive read lacks the frame pointer, which frames with an array of variable length need. The return address is
// directly below the CFA, so each stack word that follows a call is a candidate, and gives the register.
//
//	higher  ┌──────────────────────┐
//	        │ caller's frame       │
//	CFA ──► ├──────────────────────┤
//	        │ return address       │ ◄── candidate: a word that follows a call
//	        │ caller's rbp         │ ◄── frame pointer, by the candidate's place
//	        │ array, any length    │
//	lower   └──────────────────────┘ ◄── stack pointer
//
// A candidate is accepted if it alone fulfils these conditions:
//
//   - the call before it calls this function directly, or is the one that a thread begins with;
//   - a walk from there reaches a thread's first function;
//   - each return address on the way follows a call that can have led to its callee.
//
// Others further out on its own chain do not count if their call may lead here by a tail call, too, or is made once in
// a thread's life.
//
// A stale chain in the array can fulfil them, too, and so can recursion: then none is accepted. The walk ends with
// [StopUnproven], as for functions called by pointer from a place that also calls others, or reached by a tail call
// ([TailCalls]).
//
// Source: System V ABI for x86-64, §3.2.2.

const (
	maxSearchBytes = 256 << 10 // bytes of stack
	maxSearchSteps = 20000     // frames walked in trials, and words compared
	maxSearches    = 4         // in one walk
	maxCandidates  = 8         // with a whole chain
)

type callFit uint8

const (
	fitNone     callFit = iota // no call
	fitOther                   // a call of another function
	fitTailCall                // a call of another function, which may end in a jump to this one
	fitIndirect                // an indirect call, or a direct one if the callee is unknown
	fitDirect                  // a call of this function
)

type candidate struct {
	at  Addr
	reg uint64 // the register's value
	fit callFit
	// The C library makes the call once in a thread's life: it is in the two outermost frames, or in the three
	// outermost if the last two are in different modules.
	calledOnce bool
}

type registerSearch struct {
	base       cfaBase
	callee     Addr // of the frame
	trial      Walker
	candidates [maxCandidates]candidate // with whole chains
	n          int
	steps      int
	cutAt      Addr // word beyond the copy that a direct call's trial lacked; 0 means none
}

// cfaBase is a CFA: reg + off, or, with deref, the word there.
type cfaBase struct {
	reg   uint8
	off   int64
	deref bool
}

// searchRegister sets the register of a rule's CFA by the stack. StopStackCut: the copy may be too short.
func (w *Walker) searchRegister(r *resolvedRule) StopReason {
	if w.isTrial || w.snap == nil || w.progress.searchesBegun >= maxSearches {
		return StopUnproven
	}
	if !w.frame.arch.raOnStack || r.rule.Flags&(FlagExactPC|FlagStackSwitch) != 0 {
		return StopUnproven
	}
	w.progress.searchesBegun++
	base, ok := r.cfaBase()
	callee := w.frame.currentFunction()
	if !ok || callee == noFunction {
		return StopUnproven
	}
	if w.search == nil {
		w.search = &registerSearch{}
	}
	s := w.search
	s.base, s.callee, s.n, s.steps, s.cutAt = base, callee, 0, 0, 0
	finished := s.collect(w)
	if s.cutAt != 0 {
		w.frame.unreadAddr = s.cutAt
		return StopStackCut
	}
	if !finished {
		return StopUnproven
	}
	best, ok := s.best(w)
	if !ok {
		return StopUnproven
	}
	w.frame.regs.Set(base.reg, best.reg)
	w.progress.registersFound++
	return StopNone
}

// cfaBase returns false unless the return address is directly below the CFA.
func (r *resolvedRule) cfaBase() (cfaBase, bool) {
	row := r.row
	if row == nil {
		return cfaBase{reg: r.rule.CFAReg % NumRegs, off: int64(r.rule.CFAOff)}, true
	}
	if row.CFAExpr != nil || row.CFAReg >= NumRegs || row.RA.Kind != RuleOffset || row.RA.Off != -8 {
		return cfaBase{}, false
	}
	return cfaBase{row.CFAReg, row.CFAOff, row.CFADeref}, true
}

// collect tries the words from the stack pointer on. It returns false if there are too many candidates, steps or bytes,
// or a word was not copied.
func (s *registerSearch) collect(w *Walker) bool {
	stack, sp := &w.snap.Stack, w.frame.regs.SP()
	end := stack.Addr + uint64(len(stack.Bytes))
	for at := sp; at+8 <= end; at += 8 {
		v, ok := stack.word(at)
		if !ok || at-sp > maxSearchBytes {
			return false
		}
		if fit := w.frame.space.callFitOf(v, s.callee); fit >= fitTailCall && !s.tryReturnAddress(w, at, fit) {
			return false
		}
	}
	return true
}

// tryReturnAddress tries the word at at as return address. If the CFA is saved on the stack, each word equal to it
// gives a value of the register. It returns false as collect does.
func (s *registerSearch) tryReturnAddress(w *Walker, at Addr, fit callFit) bool {
	cfa, off := at+8, uint64(s.base.off)
	if !s.base.deref {
		return s.tryCandidate(w, candidate{at: at, reg: cfa - off, fit: fit})
	}
	for saved := w.frame.regs.SP(); saved < at; saved += 8 {
		s.steps++
		if s.steps > maxSearchSteps {
			return false
		}
		v, _ := w.snap.Stack.word(saved)
		if v == cfa && !s.tryCandidate(w, candidate{at: at, reg: saved - off, fit: fit}) {
			return false
		}
	}
	return true
}

// tryCandidate keeps a candidate that leads to the thread's first function; false if there is no room or time.
func (s *registerSearch) tryCandidate(w *Walker, c candidate) bool {
	found := s.walkFrom(w, &c)
	if found.cutAt != 0 && c.fit == fitDirect {
		s.cutAt = found.cutAt
	}
	if s.steps > maxSearchSteps {
		return false
	}
	if !found.whole {
		return true
	}
	c.calledOnce = found.calledOnce
	if s.n == len(s.candidates) {
		return false
	}
	s.candidates[s.n] = c
	s.n++
	return true
}

// Calls of Next in a trial that finds no frame beyond the candidate's: one for the searching frame, one for the
// candidate's, one for the end.
const stepsToCandidate = 3

// trialChain is the result of a trial; the zero value does not fit.
type trialChain struct {
	whole      bool  // it reaches the thread's first function
	calledOnce bool  // see candidate
	passes     uint8 // kept candidates at return addresses of this chain, a bit each
	cutAt      Addr  // word beyond the copy; 0 means none
}

// walkFrom walks with a candidate's register, as far as return addresses fit.
func (s *registerSearch) walkFrom(w *Walker, c *candidate) (found trialChain) {
	t := &s.trial
	t.MaxDepth, t.isTrial = w.limit, true
	t.Init(w.frame.space, &w.frame.regs, w.frame.mem)
	t.frame.regs.Set(s.base.reg, c.reg)
	t.frame.resolved, t.frame.method, t.frame.interrupted = w.frame.resolved, w.frame.method, w.frame.interrupted
	var lastModules [2]*Module // of the outermost frames so far
	t.Next()                   // the searching frame
	for {
		callee := t.frame.currentFunction()
		lastModules[0], lastModules[1] = lastModules[1], t.frame.resolved.mod
		if !t.Next() {
			break
		}
		f := t.Frame()
		at := f.SP - 8 // place of its return address
		// a frame interrupted by a signal follows no call
		fits := !t.frame.isAfterCall() || t.frame.space.callFitOf(t.frame.regs.PC, callee) >= fitTailCall
		if t.progress.depth == 2 && at != c.at || t.progress.depth > 2 && !fits {
			return trialChain{}
		}
		if s.steps++; s.steps > maxSearchSteps {
			return trialChain{}
		}
		found.passes |= s.candidatesAt(at)
	}
	beyond := t.progress.depth - stepsToCandidate // frames
	found.calledOnce = beyond <= 1 || beyond == 2 && lastModules[0] != lastModules[1]
	if t.StopReason() == StopStackCut {
		found.cutAt = t.UnreadAddr()
	}
	// a return address of 0 is no end: cleared memory has many
	found.whole = t.StopReason() == StopRoot && beyond >= 0 && t.frame.resolved.rule.Flags&FlagRoot != 0
	return found
}

// candidatesAt returns the kept candidates at a place, a bit each.
func (s *registerSearch) candidatesAt(at Addr) (found uint8) {
	for i := range s.candidates[:s.n] {
		if s.candidates[i].at == at {
			found |= 1 << i
		}
	}
	return found
}

// best returns the only candidate that is accepted; false if none, or several.
func (s *registerSearch) best(w *Walker) (candidate, bool) {
	all := s.candidates[:s.n]
	i, ok := onlyDirect(all)
	if !ok {
		return candidate{}, false
	}
	best := &all[i]
	// Candidates further out on the best one's chain do not contradict if the call there can lead here in two ways, or
	// by pointer.
	passes := s.walkFrom(w, best).passes
	for j := range all {
		c, passed := &all[j], passes&(1<<j) != 0
		if j != i && !(passed && (c.fit == fitTailCall || c.calledOnce)) {
			return candidate{}, false
		}
	}
	return *best, true
}

// onlyDirect returns the only candidate behind a direct call; if none is, the first candidate, if that is behind the
// call that a thread begins with.
func onlyDirect(all []candidate) (i int, ok bool) {
	for j := range all {
		if all[j].fit == fitDirect {
			if ok {
				return 0, false
			}
			i, ok = j, true
		}
	}
	return i, ok || len(all) > 0 && all[0].fit == fitIndirect && all[0].calledOnce
}

// callFitOf classifies the word v as a return address of the callee. Unlike isReturnAddressOf, it accepts any call if
// the callee is unknown, and has a class for tail calls.
func (s *Space) callFitOf(v Addr, callee Addr) callFit {
	if v < minCodeAddr {
		return fitNone
	}
	to, ok := s.callBefore(v)
	switch {
	case !ok:
		return fitNone
	case to == noFunction || callee == noFunction:
		return fitIndirect
	case to == callee:
		return fitDirect
	case s.mayTailCall(to):
		return fitTailCall
	}
	return fitOther
}
