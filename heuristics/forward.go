// SPDX-License-Identifier: Apache-2.0

package heuristics

// maxVotes bounds the different outcomes; enoughVotes strong votes end the analysis.
const (
	maxVotes    = 6
	enoughVotes = 3
)

// votes are the outcomes of a forward analysis. A vote is weak if the path may have run past a call that does not
// return, or ends in a jump to a function's start.
type votes struct {
	list         [maxVotes]finding
	strong       [maxVotes]uint8
	weak         [maxVotes]uint8
	outcomeCount int
	exact        int // number of strong votes
	// misaligned is the outcome of a path whose calls are not aligned as the ABI demands: no vote, but it can confirm
	// the prologue, as compilers need not align within a unit.
	misaligned    finding
	hasMisaligned bool
	// misalignedDiffers is set if several such outcomes differ. helpers are the targets of the calls.
	misalignedDiffers bool
	helpers           helpers
}

func (v *votes) add(f *finding, weak bool) {
	i := 0
	for i < v.outcomeCount && v.list[i] != *f {
		i++
	}
	if i == maxVotes {
		return
	}
	if i == v.outcomeCount {
		v.list[i], v.strong[i], v.weak[i] = *f, 0, 0
		v.outcomeCount++
	}
	if weak {
		v.weak[i]++
		return
	}
	v.strong[i]++
	v.exact++
}

// best returns the outcome with most strong votes, then most weak ones, then the first. sure: no strong vote
// contradicts it.
func (v *votes) best() (f *finding, sure bool) {
	if v.outcomeCount == 0 {
		return nil, false
	}
	best := 0
	for i := range v.outcomeCount {
		if v.strong[i] > v.strong[best] || v.strong[i] == v.strong[best] && v.weak[i] > v.weak[best] {
			best = i
		}
	}
	return &v.list[best], int(v.strong[best]) == v.exact && v.exact > 0
}

type forwardAnalysis struct {
	*interpreter
	inner    bool // innermost frame
	dispatch dispatchKind
	votes    votes
	limit    int  // in instructions
	branched bool // a path has branched, jumped or called
}

func (w *interpreter) analyseForward(pc uint64, caller bool, lo, hi uint64) votes {
	return w.analyseForwardTo(pc, caller, lo, hi, dispatchNone)
}

// analyseForwardTo is analyseForward, but indirect jumps of kind d also vote.
func (w *interpreter) analyseForwardTo(pc uint64, caller bool, lo, hi uint64, d dispatchKind) votes {
	table := uint8(noReg)
	if d == dispatchByTable {
		table = w.tableRegBefore(pc)
	}
	w.begin(pc, lo, hi)
	w.st.table = table
	w.st.pushedMem = w.src.abi.afterPush(w, pc)
	if caller {
		w.st.noteCall()
		w.st.clobber(w.src.abi.scratch)
		w.st.afterCall = true
	}
	a := forwardAnalysis{interpreter: w, inner: !caller, dispatch: d, limit: maxForward}
	v := &a.votes
	if caller {
		v.helpers.add(w.src.calledBefore(pc))
	}
	for {
		a.followPath()
		if v.exact >= enoughVotes || v.showsWholeFrame(w.src.abi) || w.steps >= a.limit {
			break
		}
		if !w.pop() && (v.exact > 0 || !w.resume()) {
			break
		}
	}
	return a.votes
}

// showsWholeFrame reports whether a path has shown a whole frame: frame pointer to the caller's, below the return
// address.
func (v *votes) showsWholeFrame(a *abi) bool {
	first := &v.list[0]
	return v.exact > 0 && first.cfa == startValue(a.fp).plus(16) && first.calleeSaved[0] == savedReg{inMemory, a.fp, 0}
}

func (w *forwardAnalysis) followPath() {
	st := &w.st
	for w.steps < w.limit && st.pc >= st.lo && st.pc < st.hi {
		code := w.code(st.pc)
		if len(code) == 0 || !w.markVisited(st.pc) {
			return
		}
		w.steps++
		sp := st.regs[st.sp]
		f := w.exec(code)
		if f.kind == flowEnd || w.makesFrame() {
			return
		}
		w.raiseLimit(f)
		if w.dispatch != dispatchNone {
			w.watchDispatch(code, f)
		}
		now := st.regs[st.sp]
		st.releasedStack = now.kind == startRelative && sp.kind == startRelative && now.base == sp.base && now.off > sp.off
		st.noteNoReturn(f)
		st.pc += uint64(f.size)
		if !w.follow(f) {
			return
		}
	}
}

// raiseLimit raises the limit by the instructions before the first branch (unrolled vector code has 10,000).
func (w *forwardAnalysis) raiseLimit(f *flow) {
	if w.branched = w.branched || f.kind != flowNext; !w.branched {
		w.limit = min(w.limit+1, maxSteps)
	}
}

// noteNoReturn notes that a call may not return: padding to an aligned address, or a landing place, follows it.
func (st *symbolicState) noteNoReturn(f *flow) {
	if !st.afterCall {
		return
	}
	if f.padding {
		st.padded = true
		return
	}
	if st.padded && st.pc%16 == 0 || f.landing {
		st.weak = true
	}
	st.afterCall, st.padded = false, false
}

func (w *forwardAnalysis) follow(f *flow) bool {
	st := &w.st
	target := st.pc + f.target
	switch f.kind {
	case flowCall:
		st.afterCall = true
		st.noteCall()
		if f.target == 0 {
			target = 0
		}
		w.votes.helpers.add(target)
	case flowCond:
		w.branch(target)
	case flowJump:
		return w.jump(target)
	case flowReturn, flowTail:
		w.vote(f)
		return false
	case flowIndirect:
		return false
	}
	return true
}

func (w *forwardAnalysis) branch(target uint64) {
	if target >= w.st.lo && target < w.st.hi {
		w.push(target)
		return
	}
	lo, hi := w.boundsOrAll(target)
	w.postpone(target, lo, hi)
}

// jump goes on at the target, later if outside of the function: a tail call, or a part split off.
func (w *forwardAnalysis) jump(target uint64) bool {
	st := &w.st
	if target >= st.lo && target < st.hi {
		st.enter(target)
		return true
	}
	lo, hi := w.boundsOrAll(target)
	w.postpone(target, lo, hi)
	if lo == target || len(w.code(target)) == 0 {
		w.voteTail()
	}
	return false
}

func (w *interpreter) boundsOrAll(pc uint64) (lo, hi uint64) {
	if lo, hi, ok := w.src.bounds(pc); ok {
		return lo, hi
	}
	return 0, ^uint64(0)
}

func (w *forwardAnalysis) vote(fl *flow) {
	f, ok := w.src.findingAtReturn(&w.st, fl, false)
	if !ok {
		return
	}
	if w.contradictsCalls(&f) {
		if v := &w.votes; !w.st.weak {
			v.misalignedDiffers = v.misalignedDiffers || v.hasMisaligned && v.misaligned != f
			v.misaligned, v.hasMisaligned = f, true
		}
		return
	}
	w.votes.add(&f, w.st.weak)
}

// voteTail votes weakly for a jump to a function's start, which may be a part of this one.
func (w *forwardAnalysis) voteTail() {
	fl := w.src.abi.tail(&w.st)
	if f, ok := w.src.findingAtReturn(&w.st, &fl, false); ok && !w.contradictsCalls(&f) {
		w.votes.add(&f, true)
	}
}

// contradictsCalls reports whether the path's calls contradict the CFA at its return.
func (w *forwardAnalysis) contradictsCalls(f *finding) bool {
	return !w.src.opt.JIT && f.cfa.kind == startRelative && f.cfa.base == w.src.abi.sp && !w.st.callsAlignedTo(f.cfa.off)
}
