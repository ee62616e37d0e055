// SPDX-License-Identifier: Apache-2.0

package frames

// Where the stack pointer does not rise, maxStackChanges ends the walk.
const maxStackChanges = 64

// A frame in no module ends the walk beyond this number of calls of Next: further out nothing proves it.
const maxDepthInNoModule = 2

// redZone is what code may use below the stack pointer (System V ABI for x86-64, §3.2.2). Kernel samples lack it. Call
// frame information that leads to it is mostly wrong.
const redZone = 128

var (
	byFramePointer = resolvedRule{rule: Rule{Method: MethodFP}}
	byScan         = resolvedRule{rule: Rule{Method: MethodScan}}
)

// step moves to the caller by the first way of the package comment's table that is open.
func (w *Walker) step() StopReason {
	own := w.frame.resolved
	switch {
	case own.rule.Flags&FlagNoRule != 0:
		return w.stepWithoutRule()
	case w.frame.knowsCFABase(own):
		return w.stepByRule(own)
	case w.frame.applyWithAssumedReg(own):
		return w.moveByRule(own)
	case !w.frame.knowsSP():
		return w.stepWithoutRule()
	}
	bySP := w.frame.space.lookup(w.frame.regs.PC, afterCallKind(!w.frame.interrupted)|kindSPOnly)
	switch {
	case bySP.rule.Flags&FlagRoot != 0:
		return StopRoot
	case bySP.rule.Flags&FlagNoRule == 0:
		return w.stepByRule(bySP)
	}
	if stop := w.searchRegister(own); stop != StopNone {
		return stop
	}
	withFoundReg := *own
	withFoundReg.rule.Method = max(own.rule.Method, MethodFP) // the less trusted one
	return w.stepByRule(&withFoundReg)
}

func (w *Walker) stepByRule(r *resolvedRule) StopReason {
	switch stop := w.frame.apply(r); stop {
	case StopNone:
	case StopNoRule: // a CFAFinder found no frame
		return w.stepWithoutRule()
	case StopStackCut, StopBadMemory:
		at := w.frame.unreadAddr
		if w.frame.regs.SP()-at <= redZone && w.frame.spWord == 0 && w.stepByInstructions(r) {
			return StopNone
		}
		w.frame.unreadAddr = at
		w.trackUnread(r)
		return stop
	default:
		return stop
	}
	to := w.callersRule(r)
	switch {
	case r.rule.Flags&FlagExactPC != 0: // not checked
	case !w.trustsReturnAddress(r, to):
		return w.stepWithoutRule()
	case !w.frame.knowsNextSP() && !w.frame.space.followsCall(w.frame.next.PC): // nothing else proves it
		return StopNoRule
	case w.frame.next.PC != 0 && to.mod == nil: // it is wrong, or its code is gone or newer than the modules
		if w.stepByInstructions(r) {
			return StopNone
		}
		return StopNoRule
	}
	return w.moveTo(r, to)
}

// stepByInstructions serves wrong call frame information, as GCC's behind an inline retpoline. It returns false if the
// code has no other rule, or one that leads to no call.
func (w *Walker) stepByInstructions(r *resolvedRule) bool {
	if r.rule.Method != MethodCFI || !w.frame.knowsSP() {
		return false
	}
	byCode := w.frame.space.lookup(w.frame.regs.PC, afterCallKind(w.frame.isAfterCall())|kindSPOnly|kindNoCFI)
	if byCode.rule.Flags&(FlagRoot|FlagNoRule) != 0 || w.frame.apply(byCode) != StopNone ||
		!w.frame.space.followsCall(w.frame.next.PC) {
		return false
	}
	return w.moveByRule(byCode) == StopNone
}

func (w *Walker) stepWithoutRule() StopReason {
	stop := w.guessCaller()
	if stop == StopNoRule {
		return w.stepToLeftStack(stop)
	}
	return stop
}

func (w *Walker) guessCaller() StopReason {
	m := w.frame.resolved.mod
	if m == nil && w.progress.depth > maxDepthInNoModule {
		return StopNoRule
	}
	callee := w.frame.currentFunction()
	if (m == nil || !m.NoFP) && w.frame.applyFramePointer(callee) {
		return w.moveByRule(&byFramePointer)
	}
	switch {
	case !w.frame.knowsSP() && !m.isUnread():
		return StopUnproven
	case !w.frame.knowsSP() || !w.mayScan():
		return w.noRuleReason()
	}
	if stop := w.applyScan(callee); stop != StopNone {
		return stop
	}
	return w.moveByRule(&byScan)
}

// noRuleReason returns StopUnproven in a passive read, where the unknown frame pointer may be all that is missing.
func (w *Walker) noRuleReason() StopReason {
	if !w.frame.knewInnermost(w.frame.arch.fp) && w.frame.resolved.mod != nil {
		return StopUnproven
	}
	return StopNoRule
}

func (w *Walker) callersRule(r *resolvedRule) *resolvedRule {
	return w.frame.space.lookup(w.frame.next.PC, afterCallKind(r.rule.Flags&FlagExactPC == 0))
}

// trustsReturnAddress decides by the package comment's table of methods. to is the rule at the return address.
func (w *Walker) trustsReturnAddress(r, to *resolvedRule) bool {
	switch {
	case w.frame.next.PC == 0: // end of the stack
		return true
	case to.pcIsCurrent && to.rule.Flags&FlagRoot != 0: // below generated code the word is a function pointer
		return !w.frame.resolved.isGenerated()
	case r.rule.Method == MethodCFI, to.pcIsCurrent:
		return true
	case w.frame.resolved.isGenerated() && to.isGenerated():
		return true
	}
	return w.frame.space.followsCall(w.frame.next.PC)
}

func (w *Walker) moveByRule(r *resolvedRule) StopReason {
	return w.moveTo(r, w.callersRule(r))
}

// moveTo makes the registers given by r the current frame, if they are further out. to is the rule there.
func (w *Walker) moveTo(r, to *resolvedRule) StopReason {
	if w.frame.next.PC == 0 {
		if w.frame.resolved.isGenerated() && w.frame.resolved.mod.NoFP {
			return StopNoRule // no thread begins in such code: the rule was wrong
		}
		return StopRoot
	}
	if !w.trackStackPointer(r) {
		return StopLoop
	}
	w.frame.next.storeTo(&w.frame.regs)
	w.frame.resolved, w.frame.method, w.frame.interrupted = to, r.rule.Method, r.rule.Flags&FlagExactPC != 0
	if !w.frame.knowsSP() {
		w.findSPByRecord()
	}
	return StopNone
}

// trackStackPointer records a step of the stack pointer. It returns false where the walk must end: the stack pointer
// does not rise, and the step may not keep or lower it, or maxStackChanges steps have done so.
func (w *Walker) trackStackPointer(r *resolvedRule) bool {
	from, to := w.frame.regs.SP(), w.frame.nextSP()
	rises := to > from && r.rule.Flags&(FlagExactPC|FlagStackSwitch) == 0
	switch {
	case rises && to-from <= largeStep:
	case rises:
		if w.isBeyondFirstStack(to) || w.frame.switchesStack() {
			w.progress.tracker.trackStep(from, to, 0)
			w.recordLink(to)
		}
	case w.mayKeepOrLowerSP(r, from, to):
		w.progress.stackChanges++
		if w.progress.stackChanges > maxStackChanges {
			return false
		}
		w.progress.tracker.trackStep(from, to, longestStep(w.frame.regs.Arch, &r.rule))
		w.recordLink(to)
	default:
		return false
	}
	return true
}

// mayKeepOrLowerSP reports whether a step by r may lead from a stack pointer to one at the same place or below.
func (w *Walker) mayKeepOrLowerSP(r *resolvedRule, from, to Addr) bool {
	switch {
	case r.rule.Flags&(FlagExactPC|FlagStackSwitch) != 0:
		return true
	case to == from:
		return w.frame.isLeaf(r)
	case r.rule.Method == MethodCFI && w.frame.spWord != 0: // tables that lead to another stack (OCaml's C calls)
		return true
	}
	return w.frame.switchesStack()
}

// isLeaf reports whether the caller's stack pointer may be this frame's, as the return address may be in a register: on
// arm64; on x86-64 by a Row (vfork), or popped by the innermost frame (OCaml's caml_c_call).
func (c *callerStep) isLeaf(r *resolvedRule) bool {
	popped := c.interrupted && r.rule.Method == MethodCFI && r.rule.CFAReg == X86RSP && r.rule.CFAOff == 0
	return c.next.PC != c.regs.PC && (c.regs.Arch != X86_64 || r.row != nil || popped)
}

func (c *callerStep) switchesStack() bool {
	return c.space.switchesStack(c.regs.PC, !c.interrupted)
}
