// SPDX-License-Identifier: Apache-2.0

package frames

// # Hypotheses
//
// A look that did not stop its thread knows the stack pointer and the program counter. A function with an array of
// variable length has its frame at a distance from the stack pointer that is nowhere in the code. Its rule is
// relative to the frame pointer, and a peek cannot see that unless an inner frame saved it. But the return address
// lies right below the CFA, so that every word on the stack that follows a call is a candidate, and gives the
// register.
//
// A candidate is believed if it proves itself, and nothing else can be the truth:
//
//   - the call before it is a direct one of the function that the walk is in, or the call
//     that a thread begins with;
//   - from there a walk reaches a function that is known to be a thread's first;
//   - each return address on the way follows a call that can have led to the function further in;
//   - no other candidate does so. Frames that ended may lie within the array, whole, and
//     those of the same functions look like live ones. What gives them away is the place
//     where they would join the live frames: the word there is of the live call, and calls
//     somebody else. Where it does not, as in recursion, both are possible, and neither is
//     taken.
//
// A wrong stack is worse than an incomplete one: in doubt the walk ends as unproven. A
// function may have been called by pointer, from a place that calls others too. Or a jump
// at the end of another one may have led to it ([Jumps]). Both are such doubts.
//
// Sources: System V ABI for x86-64, §3.2.2 (the return address lies below the CFA) and
// Intel SDM volume 2, CALL (what stands before it).

const (
	// proofBytes bounds how much of the stack is searched.
	proofBytes = 256 << 10
	// proofSteps bounds the frames that the trials of one search may walk, and the words
	// that are compared with an address, in all.
	proofSteps = 20000
	// maxSearches bounds the searches in one walk.
	maxSearches = 4
	// maxCandidates is how many candidates with a whole chain are told apart.
	maxCandidates = 8
)

// link says how a return address goes with the function that is to return to it.
type link uint8

const (
	linkNone   link = iota // no call precedes it
	linkOther              // a call of another function
	linkJump               // a call of another function, which may have ended in a jump to this one
	linkAny                // an indirect call
	linkDirect             // a call of that very function
)

// candidate is a place that may hold the return address.
type candidate struct {
	at   Addr
	reg  uint64 // the value that the register has then
	link link
	// once: the call is made once in a thread's life, by the C library. That is from the outermost frame or the one
	// next to it, or, where a program's entry point lies in another module, from the one before.
	once bool
}

// search is the state of one search; it is kept for the next one.
type search struct {
	trial Walker
	found [maxCandidates]candidate
	n     int
	steps int
	cut   Addr // what the trial of a likely candidate could not read, as the copy ends before it
}

// hypotheses are what a Walker knows of its searches.
type hypotheses struct {
	search   *search
	searches int  // in this walk
	proven   int  // registers that they have found
	trying   bool // this walk is a trial of a search
}

// Hypotheses tells how many registers of this walk were not seen but found on the stack
// and proven.
func (w *Walker) Hypotheses() int { return w.proven }

// prove finds the value of the register that a rule's CFA is relative to, and makes it known. It gives StopUnproven
// if none is proven, StopStackCut if the copy of the stack may be too short for the proof.
func (w *Walker) prove(r *Rule) StopReason {
	info := w.regs.Arch.info()
	if w.trying || w.snap == nil || w.searches >= maxSearches {
		return StopUnproven
	}
	if !info.raOnStack || r.Flags&(FlagSignal|FlagSwitch|FlagRoot) != 0 {
		return StopUnproven
	}
	w.searches++
	f := w.Frame()
	start, known := w.space.funcStart(f.Lookup(w.regs.Arch))
	off, reg, deref, ok := w.relative(r)
	if !known || !ok {
		return StopUnproven
	}
	if w.search == nil {
		w.search = &search{}
	}
	s := w.search
	s.n, s.steps, s.cut = 0, 0, 0
	ok = w.collect(reg, off, deref, start)
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

// relative gives the register that a rule is relative to and the distance of the CFA, or
// of the word that holds it. Not for rules that keep the return address elsewhere than
// below the CFA.
func (w *Walker) relative(r *Rule) (off int64, reg uint8, deref, ok bool) {
	if r.Flags&FlagRow == 0 {
		return int64(r.CFAOff), r.CFAReg % NumRegs, false, true
	}
	row := w.space.rows[r.row()]
	if row.CFAExpr != nil || row.CFAReg >= NumRegs || row.RA.Kind != RuleOffset || row.RA.Off != -8 {
		return 0, 0, false, false
	}
	return row.CFAOff, row.CFAReg, row.CFADeref, true
}

// collect finds all candidates; false if there are too many, or it takes too long.
func (w *Walker) collect(reg uint8, off int64, deref bool, start Addr) bool {
	stack := &w.snap.Stack
	sp := w.regs.SP()
	end := stack.Addr + uint64(len(stack.Bytes))
	for at := sp; at+8 <= end; at += 8 {
		v, ok := stack.word(at)
		if !ok || at-sp > proofBytes {
			return false // it is cut below the thread's first function, or lies elsewhere
		}
		l := w.linkOf(v, start, true)
		if l < linkJump {
			continue
		}
		cfa := at + 8
		if !deref {
			if !w.consider(candidate{at: at, reg: cfa - uint64(off), link: l}, reg) {
				return false
			}
			continue
		}
		for a := sp; a < at; a += 8 {
			w.search.steps++
			v, _ := stack.word(a)
			if w.search.steps > proofSteps || v == cfa && !w.consider(candidate{at: at, reg: a - uint64(off), link: l}, reg) {
				return false
			}
		}
	}
	return true
}

// consider keeps a candidate that leads to the thread's first function; false if there is
// no room for it or no time.
func (w *Walker) consider(c candidate, reg uint8) bool {
	s := w.search
	whole := s.chain(w, &c, reg, nil)
	if s.steps > proofSteps {
		return false
	}
	if !whole {
		return true
	}
	if s.n == len(s.found) {
		return false
	}
	s.found[s.n] = c
	s.n++
	return true
}

// linkOf says how a return address goes with the function at start, which is to return to it.
func (w *Walker) linkOf(v, start Addr, known bool) link {
	if v < 4096 || w.space.find(v-1) < 0 {
		return linkNone
	}
	call, ok := w.space.callBefore(v)
	switch {
	case !ok:
		return linkNone
	case !call.Direct || !known:
		return linkAny
	case call.Target == start:
		return linkDirect
	case w.space.leaves(call.Target):
		return linkJump
	}
	return linkOther
}

// chain walks from the current frame of w on with a candidate's register, and reports whether it gets to the thread's
// first function with every return address proven. The candidate's own was classified already. to, if not nil, is
// told where each return address lies.
func (s *search) chain(w *Walker, c *candidate, reg uint8, to func(at Addr)) bool {
	t := &s.trial
	t.MaxDepth, t.trying = w.limit, true
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
		start, known := t.space.funcStart(f.Lookup(t.regs.Arch))
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
		case g.Caller && t.linkOf(g.PC, start, known) < linkJump: // else a signal interrupted it there
			return false
		}
		if s.steps++; s.steps > proofSteps {
			return false
		}
		if to != nil {
			to(at)
		}
	}
	// Two frames are this one and its caller; Next has counted one that there is not.
	rest := t.depth - 3
	c.once = rest <= 1 || rest == 2 && mods[0] != mods[1]
	if c.link == linkDirect && t.StopReason() == StopStackCut {
		s.cut = t.UnreadAddr()
	}
	return t.StopReason() == StopRoot && rest >= 0 && t.atRoot()
}

// atRoot reports whether it is the code of the current frame that says that there is no
// caller. A return address of 0 ends a walk too, but memory that was cleared has many.
func (w *Walker) atRoot() bool {
	r := &w.space.lookup(w.regs.PC, w.caller, false).rule
	return r.Flags&FlagRoot != 0 || r.Flags&FlagRow != 0 && w.space.rows[r.row()].RA.Kind == RuleUndefined
}

// best gives the candidate that is proven; false if there is none, or another may be the
// truth as well.
func (s *search) best(w *Walker, reg uint8) (candidate, bool) {
	found := s.found[:s.n]
	best := -1
	for i := range found {
		if found[i].link == linkDirect {
			if best >= 0 {
				return candidate{}, false
			}
			best = i
		}
	}
	if best < 0 && s.n > 0 && found[0].link == linkAny && found[0].once {
		best = 0
	}
	if best < 0 {
		return candidate{}, false
	}
	// A return address further out follows from the one that is believed. It could only be this function's own if what
	// was called there both calls it and jumps to it, or if it is called by pointer. Not from a place that calls once.
	others := s.n - 1
	s.chain(w, &found[best], reg, func(at Addr) {
		for i := range found {
			if c := &found[i]; i != best && c.at == at && (c.link == linkJump || c.once) {
				others--
			}
		}
	})
	return found[best], others == 0
}
