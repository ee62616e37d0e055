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
	byFramePointer = resolvedRule{Rule: Rule{Method: MethodFP}}
	byScan         = resolvedRule{Rule: Rule{Method: MethodScan}}
)

// step moves to the caller by the first way of the package comment's table that is open.
func (w *Walker) step() StopReason {
	own := w.rule
	switch {
	case own.Flags&FlagNoRule != 0:
		return w.stepWithoutRule()
	case w.knowsCFABase(own):
		return w.stepByRule(own)
	case w.applyWithAssumedReg(own):
		return w.moveByRule(own)
	case !w.knowsSP():
		return w.stepWithoutRule()
	}
	bySP := w.space.lookup(w.regs.PC, afterCallKind(!w.interrupted)|kindSPOnly)
	switch {
	case bySP.Flags&FlagRoot != 0:
		return StopRoot
	case bySP.Flags&FlagNoRule == 0:
		return w.stepByRule(bySP)
	}
	if stop := w.searchRegister(own); stop != StopNone {
		return stop
	}
	withFoundReg := *own
	withFoundReg.Method = max(own.Method, MethodFP) // the less trusted one
	return w.stepByRule(&withFoundReg)
}

func (w *Walker) stepByRule(r *resolvedRule) StopReason {
	switch stop := w.apply(r); stop {
	case StopNone:
	case StopNoRule: // a CFAFinder found no frame
		return w.stepWithoutRule()
	case StopStackCut, StopBadMemory:
		at := w.unreadAddr
		if w.regs.SP()-at <= redZone && w.spWord == 0 && w.stepByInstructions(r) {
			return StopNone
		}
		w.unreadAddr = at
		w.trackUnread(r)
		return stop
	default:
		return stop
	}
	to := w.callersRule(r)
	switch {
	case r.Flags&FlagExactPC != 0: // not checked
	case !w.trustsReturnAddress(r, to):
		return w.stepWithoutRule()
	case !w.knowsNextSP() && !w.space.followsCall(w.next.PC): // nothing else proves it
		return StopNoRule
	case w.next.PC != 0 && to.mod == nil: // it is wrong, or its code is gone or newer than the modules
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
	if r.Method != MethodCFI || !w.knowsSP() {
		return false
	}
	byCode := w.space.lookup(w.regs.PC, afterCallKind(w.isAfterCall())|kindSPOnly|kindNoCFI)
	if byCode.Flags&(FlagRoot|FlagNoRule) != 0 || w.apply(byCode) != StopNone || !w.space.followsCall(w.next.PC) {
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
	m := w.rule.mod
	if m == nil && w.depth > maxDepthInNoModule {
		return StopNoRule
	}
	callee := w.currentFunction()
	if (m == nil || !m.NoFP) && w.applyFramePointer(callee) {
		return w.moveByRule(&byFramePointer)
	}
	switch {
	case !w.knowsSP() && !m.isUnread():
		return StopUnproven
	case !w.knowsSP() || !w.mayScan():
		return w.noRuleReason()
	}
	if stop := w.applyScan(callee); stop != StopNone {
		return stop
	}
	return w.moveByRule(&byScan)
}

// noRuleReason returns StopUnproven in a passive read, where the unknown frame pointer may be all that is missing.
func (w *Walker) noRuleReason() StopReason {
	if !w.knewInnermost(w.arch.fp) && w.rule.mod != nil {
		return StopUnproven
	}
	return StopNoRule
}

func (w *Walker) callersRule(r *resolvedRule) *resolvedRule {
	return w.space.lookup(w.next.PC, afterCallKind(r.Flags&FlagExactPC == 0))
}

// trustsReturnAddress decides by the package comment's table of methods. to is the rule at the return address.
func (w *Walker) trustsReturnAddress(r, to *resolvedRule) bool {
	switch {
	case w.next.PC == 0: // end of the stack
		return true
	case to.pcIsCurrent && to.Flags&FlagRoot != 0: // below generated code the word is a function pointer
		return !w.rule.isGenerated()
	case r.Method == MethodCFI, to.pcIsCurrent:
		return true
	case w.rule.isGenerated() && to.isGenerated():
		return true
	}
	return w.space.followsCall(w.next.PC)
}

func (w *Walker) moveByRule(r *resolvedRule) StopReason {
	return w.moveTo(r, w.callersRule(r))
}

// moveTo makes the registers given by r the current frame, if they are further out. to is the rule there.
func (w *Walker) moveTo(r, to *resolvedRule) StopReason {
	if w.next.PC == 0 {
		if w.rule.isGenerated() && w.rule.mod.NoFP {
			return StopNoRule // no thread begins in such code: the rule was wrong
		}
		return StopRoot
	}
	if !w.trackStackPointer(r) {
		return StopLoop
	}
	w.next.storeTo(&w.regs)
	w.rule, w.method, w.interrupted = to, r.Method, r.Flags&FlagExactPC != 0
	if !w.knowsSP() {
		w.findSPByRecord()
	}
	return StopNone
}

// trackStackPointer records a step of the stack pointer. It returns false where the walk must end: the stack pointer
// does not rise, and the step may not keep or lower it, or maxStackChanges steps have done so.
func (w *Walker) trackStackPointer(r *resolvedRule) bool {
	from, to := w.regs.SP(), w.nextSP()
	rises := to > from && r.Flags&(FlagExactPC|FlagStackSwitch) == 0
	switch {
	case rises && to-from <= largeStep:
	case rises:
		if w.isBeyondFirstStack(to) || w.switchesStack() {
			w.tracker.trackStep(from, to, 0)
			w.recordLink(to)
		}
	case w.mayKeepOrLowerSP(r, from, to):
		w.stackChanges++
		if w.stackChanges > maxStackChanges {
			return false
		}
		w.tracker.trackStep(from, to, longestStep(w.regs.Arch, &r.Rule))
		w.recordLink(to)
	default:
		return false
	}
	return true
}

// mayKeepOrLowerSP reports whether a step by r may lead from a stack pointer to one at the same place or below.
func (w *Walker) mayKeepOrLowerSP(r *resolvedRule, from, to Addr) bool {
	switch {
	case r.Flags&(FlagExactPC|FlagStackSwitch) != 0:
		return true
	case to == from:
		return w.isLeaf(r)
	case r.Method == MethodCFI && w.spWord != 0: // tables that lead to another stack (OCaml's C calls)
		return true
	}
	return w.switchesStack()
}

// isLeaf reports whether the caller's stack pointer may be this frame's, as the return address may be in a register: on
// arm64; on x86-64 by a Row (vfork), or popped by the innermost frame (OCaml's caml_c_call).
func (c *callerStep) isLeaf(r *resolvedRule) bool {
	popped := c.interrupted && r.Method == MethodCFI && r.CFAReg == X86RSP && r.CFAOff == 0
	return c.next.PC != c.regs.PC && (c.regs.Arch != X86_64 || r.row != nil || popped)
}

func (c *callerStep) switchesStack() bool {
	return c.space.switchesStack(c.regs.PC, !c.interrupted)
}
