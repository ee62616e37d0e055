// SPDX-License-Identifier: Apache-2.0

package frames

import "math"

// DefaultMaxDepth is the most frames of a walk without a limit of its own.
const DefaultMaxDepth = 1024

// maxSwitches bounds the changes of stack, where no rising stack pointer proves that the walk ends.
const maxSwitches = 64

// Walker iterates over the frames of one stack, innermost first, without allocation. The zero value is ready for Init,
// and so is a used one.
type Walker struct {
	// MaxDepth limits the number of frames. 0 means DefaultMaxDepth, a negative number no limit.
	MaxDepth int

	callerStep                   // the current frame's
	cur              *cacheEntry // the frame's rule, valid while its key is w.key
	key              uint64      // 0 before the first frame and after the last
	exact            bool        // cur.exact
	method           Method
	depth            int // calls of Next
	limit            int // most frames
	stop             StopReason
	snap             *Snapshot // mem, if it is a Snapshot
	stack            []byte    // bytes of snap.Stack
	lowestCFA        Addr      // the lowest CFA whose window (Next) is in stack
	unmappedPC       Addr
	scanWasCut       bool
	switches         int // changes of stack so far
	registerSearches     // registers found by search
	stacks           stackTracker
}

// Init starts a walk at a copy of regs. space and mem must not change until it ends.
func (w *Walker) Init(space *Space, regs *Regs, mem Memory) {
	w.space, w.mem = space, mem
	w.regs = *regs
	w.knownInnermost = regs.Known
	w.stack = nil
	if w.snap, _ = mem.(*Snapshot); w.snap != nil {
		w.stack, w.lowestCFA = w.snap.Stack.Bytes, w.snap.Stack.Addr+windowBytes
	}
	w.depth, w.switches, w.begun, w.proven, w.stop, w.scanWasCut = 0, 0, 0, 0, StopNone, false
	w.stacks, w.unmappedPC = stackTracker{}, 0
	switch {
	case w.MaxDepth > 0:
		w.limit = w.MaxDepth
	case w.MaxDepth < 0:
		w.limit = math.MaxInt
	default:
		w.limit = DefaultMaxDepth
	}
	w.enter(MethodContext, false)
	w.key = 0
}

// nextSlow is Next for the first frame, the last, and rules that are not plain.
func (w *Walker) nextSlow() bool {
	if w.stop != StopNone {
		return false
	}
	if !w.isTrial { // which runs within a step
		w.space.trimRows()
	}
	if w.depth == 1 {
		w.key = cacheKey(w.regs.PC, w.caller, false)
		return true
	}
	if w.cur.key != w.key { // another rule has taken the slot
		w.cur = w.space.lookup(w.regs.PC, w.caller, false)
	}
	switch {
	case w.cur.rule.Flags&FlagRoot != 0, w.KernelOnly():
		w.stop = StopRoot
	case w.depth > w.limit:
		w.stop = StopDepth
	default:
		w.stop = w.step()
	}
	if w.stop != StopNone {
		w.key = 0
		return false
	}
	return true
}

// KernelOnly reports whether the thread never runs in user space, as io_uring's: its registers are zero (copy_thread).
func (w *Walker) KernelOnly() bool {
	return w.regs.PC == 0 && w.regs.SP() == 0 && w.method == MethodContext
}

// Frame returns the current frame.
func (w *Walker) Frame() Frame {
	f := Frame{PC: w.regs.PC, SP: w.regs.SP(), Module: w.module(), Method: w.method, Caller: w.caller && !w.exact}
	if !w.knowsSP() {
		f.SP = 0
	}
	f.FP = w.regs.fp()
	return f
}

// Regs returns the current frame's registers, until the next Next.
func (w *Walker) Regs() *Regs { return &w.regs }

// UnreadAddr returns the word that could not be read, after StopStackCut or StopBadMemory.
func (w *Walker) UnreadAddr() Addr { return w.unreadAddr }

// ScanWasCut reports whether a scan ended with StopStackCut; it may not need the word.
func (w *Walker) ScanWasCut() bool { return w.scanWasCut }

// UnmappedPC returns the address in no module that ended the walk, or 0. Its code may be newer than the modules.
func (w *Walker) UnmappedPC() Addr { return w.unmappedPC }

// StopReason returns why the walk ended, StopNone while it has not.
func (w *Walker) StopReason() StopReason { return w.stop }

func (w *Walker) enter(m Method, caller bool) {
	w.enterAt(w.space.lookup(w.regs.PC, caller, false), m, caller)
}

func (w *Walker) enterAt(e *cacheEntry, m Method, caller bool) {
	w.cur, w.key = e, e.key
	w.mod, w.exact = e.mod, e.exact
	w.caller, w.method = caller, m
}

func (w *Walker) step() StopReason {
	r := w.cur.rule
	if r.Flags&FlagNone == 0 && !w.canApply(&r) {
		if w.assumePreserved(&r) {
			return w.commit(&r)
		}
		if !w.knowsSP() {
			return w.stepByFramePointerOrScan()
		}
		var stop StopReason
		if r, stop = w.ruleForMissingReg(&r); stop != StopNone {
			return stop
		}
	}
	if r.Flags&FlagRoot != 0 {
		return StopRoot
	}
	if r.Flags&FlagNone != 0 {
		return w.stepByFramePointerOrScan()
	}
	switch stop := w.apply(&r); stop {
	case StopNone:
	case StopNoRule: // the stack does not fit the rule
		return w.stepByFramePointerOrScan()
	case StopStackCut, StopBadMemory:
		w.noteUnread(&r)
		return stop
	default:
		return stop
	}
	if r.Flags&FlagSignal == 0 {
		if !w.isPlausible(&r) {
			return w.stepByFramePointerOrScan()
		}
		if !w.returnsIntoCode() {
			return StopNoRule
		}
	}
	return w.commit(&r)
}

// ruleForMissingReg returns a rule for a frame whose own needs an unknown register: one relative to the stack pointer,
// else its own, if the register can be proven.
func (w *Walker) ruleForMissingReg(r *Rule) (Rule, StopReason) {
	if e := w.space.lookup(w.regs.PC, w.caller, true); e.rule.Flags&FlagNone == 0 {
		return e.rule, StopNone
	}
	if stop := w.searchRegister(r); stop != StopNone {
		return Rule{}, stop
	}
	same := w.space.lookup(w.regs.PC, w.caller, false).rule
	same.Method = max(same.Method, MethodFP)
	return same, StopNone
}

// isPlausible checks a rule's return address (package comment, "Methods"). The start of a prepared stack never calls
// generated code: that is a function pointer on the stack.
func (w *Walker) isPlausible(r *Rule) bool {
	if w.next.PC == 0 {
		return true
	}
	generated := w.module() != nil && w.module().Generated
	needs := w.space.requiredConfidence(r, w.mod)
	if needs == confidenceCode && !generated {
		return true
	}
	e := w.space.lookup(w.next.PC, true, false)
	if e.exact && e.rule.Flags&FlagRoot != 0 {
		return !generated
	}
	if needs == confidenceCode {
		return true
	}
	if e.confidence < needs && w.space.followsCall(w.next.PC) {
		e.confidence = confidenceCall
	}
	return e.confidence >= needs
}

// returnsIntoCode reports whether the return address is in a module, or ends the stack. Else the rule was wrong, or the
// code is gone or newer than the modules. An address found without a stack pointer must follow a call.
func (w *Walker) returnsIntoCode() bool {
	pc := w.next.PC
	if !w.knowsNextSP() && !w.space.followsCall(pc) {
		return false
	}
	at := pc - w.regs.Arch.CallLen()
	if pc == 0 || w.space.moduleIndex(at) >= 0 || w.space.lookup(pc, true, false).mod >= 0 {
		return true
	}
	w.unmappedPC = at
	return false
}

// commit makes the computed registers the current frame, if further out.
func (w *Walker) commit(r *Rule) StopReason {
	if w.next.PC == 0 {
		if m := w.module(); m != nil && m.Generated && m.NoFP {
			return StopNoRule // no thread begins in such code: the rule was wrong
		}
		return StopRoot
	}
	sp, old := w.next.SP(), w.regs.SP()
	switch {
	case r.Flags&(FlagSignal|FlagStackSwitch) != 0, sp == old && w.isLeaf(r), sp < old && w.hasSwitchedStack():
		if w.switches++; w.switches > maxSwitches {
			return StopLoop
		}
		w.stacks.noteStep(old, sp, longestStep(w.regs.Arch, r))
	case sp <= old:
		return StopLoop
	case sp-old > largeStep && w.switchesStack():
		w.stacks.noteStep(old, sp, 0)
	}
	w.regs = w.next
	w.enter(r.Method, r.Flags&FlagSignal == 0)
	if !w.knowsSP() {
		w.findSPByRecord()
	}
	return StopNone
}

// isLeaf reports whether the caller's stack pointer may be this frame's, as the return address is in a register: on
// arm64; on x86-64 by a Row (vfork), or where the innermost frame popped it (OCaml's caml_c_call).
func (c *callerStep) isLeaf(r *Rule) bool {
	popped := !c.caller && r.Method == MethodCFI && r.CFAReg == X86RSP && r.CFAOff == 0
	return c.next.PC != c.regs.PC && (c.regs.Arch != X86_64 || r.Flags&FlagRow != 0 || popped)
}

// hasSwitchedStack reports whether this function has loaded another stack's pointer (gcc's __morestack).
func (c *callerStep) hasSwitchedStack() bool {
	m := c.module()
	if m == nil {
		return false
	}
	s, ok := m.Calls.(StackSwitches)
	return ok && s.SwitchesStack(c.regs.PC-m.Bias, c.caller)
}
