// SPDX-License-Identifier: Apache-2.0

package heuristics

import "prywalk/frames"

// acceptedEnds vote beside returns and tail calls of functions that keep the ABI.
type acceptedEnds struct {
	dispatch      dispatchKind // indirect jumps
	ownConvention bool         // keeps only the frame pointer
}

type epilogueSearch struct {
	in        *interpreter
	accepts   acceptedEnds
	start     uint64
	innermost bool  // start is not behind a call
	branched  bool  // a path has branched, jumped or called
	spBefore  value // stack pointer before the last instruction
	votes     votes
}

// searchEpilogues follows the paths from pc to returns. With afterCall, pc is behind a call. Paths that leave fn are
// followed only if none within votes strongly. The votes are valid until the next search.
func (a *analysis) searchEpilogues(pc uint64, afterCall bool, fn span, accepts acceptedEnds) *votes {
	table := uint8(noReg)
	if accepts.dispatch == dispatchByTable {
		table = a.tableRegBefore(pc)
	}
	a.begin(pc, fn)
	a.limit = maxForward
	a.st.tableReg = table
	a.st.pushedMem = a.abi.afterPush(&a.interpreter, pc)
	e := &a.epilogues
	*e = epilogueSearch{in: &a.interpreter, accepts: accepts, start: pc, innermost: !afterCall}
	if afterCall {
		a.st.recordCall()
		a.st.clobber(a.abi.scratch)
	}
	a.runPaths(e)
	return &e.votes
}

func (e *epilogueSearch) arrive() bool {
	e.spBefore = e.in.st.regs[e.in.st.sp]
	return e.in.visit()
}

func (e *epilogueSearch) done() bool {
	return e.votes.strong >= enoughVotes || e.votes.showsWholeFrame(e.in.abi)
}

func (e *epilogueSearch) needsPostponed() bool { return e.votes.strong == 0 }

func (e *epilogueSearch) follow(f *flow) bool {
	in := e.in
	before, sp := e.spBefore, in.st.regs[in.st.sp]
	in.st.releasedStack = before.kind == startRelative && sp.isRelativeTo(before.base) && sp.off > before.off
	if f.kind == flowEnd || e.voteFrameMade() {
		return false
	}
	// The instructions before the first branch do not count: unrolled vector code has 10,000.
	if e.branched = e.branched || f.kind != flowNext; !e.branched {
		e.in.limit = min(e.in.limit+1, maxSteps)
	}
	switch f.kind {
	case flowCall:
		in.st.recordCall()
	case flowCond:
		if in.st.function.has(f.target) {
			in.push(f.target)
		} else {
			in.postpone(f.target, in.functionAt(f.target))
		}
	case flowJump:
		return e.jump(f.target)
	case flowReturn, flowTail:
		e.vote(f)
		return false
	case flowIndirect:
		e.voteDispatch(f)
		return false
	}
	return true
}

// jump goes on at the target. If that is outside of the function, a tail call or a part split off, it is postponed, and
// jump returns false.
func (e *epilogueSearch) jump(target uint64) bool {
	in := e.in
	if in.st.function.has(target) {
		in.st.enter(target)
		return true
	}
	fn := in.functionAt(target)
	in.postpone(target, fn)
	if fn.lo == target || len(in.code(target)) == 0 {
		// Another function's start may be a part of this one, so the vote is weak.
		if f, ok := e.findingAtTail(false); ok && !e.contradictsCalls(&f) {
			e.votes.add(&f, true)
		}
	}
	return false
}

func (e *epilogueSearch) vote(end *flow) {
	f, ok := e.findingAtReturn(end.ret, end.ra, e.accepts.ownConvention)
	if !ok {
		return
	}
	switch weak := e.in.st.doubtful; {
	case !e.contradictsCalls(&f):
		e.votes.add(&f, weak)
	case !weak:
		e.votes.misaligned, e.votes.hasMisaligned = f, true
	}
}

func (e *epilogueSearch) contradictsCalls(f *finding) bool {
	bySP := f.cfa.isRelativeTo(e.in.abi.sp)
	return bySP && !e.in.src.opt.JIT && !e.in.st.callsAlignedTo(f.cfa.off)
}

func (e *epilogueSearch) findingAtTail(ownConvention bool) (finding, bool) {
	abi, st, ra := e.in.abi, &e.in.st, value{}
	if abi.ra != noReg {
		ra = st.regs[abi.ra]
	}
	return e.findingAtReturn(st.regs[abi.sp].plus(abi.entry), ra, ownConvention)
}

// findingAtReturn returns what a return shows that has the CFA cfa, and, with a link register, the return address ra.
// ownConvention: the code keeps only the frame pointer.
func (e *epilogueSearch) findingAtReturn(cfa, ra value, ownConvention bool) (f finding, ok bool) {
	abi := e.in.abi
	if !abi.mayBeCFA(cfa) {
		return f, false
	}
	f.cfa = cfa
	if abi.ra != noReg {
		// The return address may be in a caller-saved register (x1 in arm64's swapcontext). Callee-saved ones have other
		// uses that look the same.
		f.ra = placeOf(ra, abi.ra)
		if f.ra == lost || f.ra.Kind == frames.RuleReg && abi.scratch>>f.ra.Reg&1 == 0 {
			return f, false
		}
	}
	for i, reg := range abi.calleeSaved {
		v := e.in.st.regs[reg]
		f.calleeSaved[i] = placeOf(v, reg)
		restored := f.calleeSaved[i].Kind == frames.RuleSame || isInMemory(f.calleeSaved[i])
		if restored && abi.isLoadedFromStack(v, cfa.base) {
			continue
		}
		mayChange := (e.in.src.opt.JIT || ownConvention) && reg != abi.fp
		if !mayChange {
			return f, false
		}
		f.calleeSaved[i] = lost
	}
	return f, true
}

// mayBeCFA returns false for a word that neither stack pointer nor frame pointer leads to: it is of another function's
// frame (swapcontext).
func (abi *abi) mayBeCFA(v value) bool {
	switch {
	case v.base >= firstUnnamedBase:
		return false
	case v.kind == loaded:
		return v.base == abi.sp || v.base == abi.fp
	}
	return v.kind == startRelative && (v.base != abi.sp || int64(v.off) >= abi.entry)
}

// isLoadedFromStack returns false for a load from a table, as V8 loads callee-saved registers.
func (abi *abi) isLoadedFromStack(v value, cfaReg uint8) bool {
	return v.kind != loaded || v.base == abi.sp || v.base == abi.fp || v.base == cfaReg
}
