// SPDX-License-Identifier: Apache-2.0

package frames

import "math"

// DefaultMaxDepth is the number of frames after which a walk gives up when its
// caller sets no limit.
const DefaultMaxDepth = 1024

// maxSwitches bounds the changes from one stack to another in one walk, where
// the rising stack pointer does not prove that the walk ends.
const maxSwitches = 64

// Walker gives the frames of one stack, innermost first:
//
//	w.Init(space, &regs, mem)
//	for w.Next() {
//		use(w.Frame())
//	}
//	why := w.StopReason()
//
// It allocates nothing, can start at any register set, and can be left at any
// depth. The zero value is ready for Init, and can be used again.
type Walker struct {
	// MaxDepth limits the number of frames; 0 means DefaultMaxDepth, a
	// negative number no limit.
	MaxDepth int

	space      *Space
	snap       *Snapshot // mem, if it is one
	stack      []byte    // its stack
	low        Addr      // address of the window that begins where stack does, see Next
	cur        *entry    // a slot of the cache: valid while its key is w.key
	key        uint64    // 0 before the first frame and after the last
	depth      int
	limit      int
	mod        int32 // what cur.mod was
	exact      bool  // what cur.exact was
	caller     bool  // regs.PC is a return address
	method     Method
	stop       StopReason
	regs       Regs
	next       Regs // the caller's registers, while they are computed
	mem        Memory
	unreadAddr Addr
	noCode     Addr // see NoCodeAt
	searched   bool // the walk ended in a search that ran out of stack
	switches   int
	given      uint64 // the registers that were known at the start
	hypotheses
	reach reach
}

// Init starts a walk at regs, which is copied. The walk reads space and mem until
// it ends; neither may change meanwhile.
func (w *Walker) Init(space *Space, regs *Regs, mem Memory) {
	w.space, w.mem = space, mem
	w.regs = *regs
	w.given = regs.Known
	w.stack = nil
	if w.snap, _ = mem.(*Snapshot); w.snap != nil {
		w.stack, w.low = w.snap.Stack.Bytes, w.snap.Stack.Addr+8*windowUnits
	}
	w.depth, w.switches, w.searches, w.proven, w.stop, w.searched = 0, 0, 0, 0, StopNone, false
	w.reach, w.noCode = reach{}, 0
	w.limit = w.MaxDepth
	if w.MaxDepth <= 0 {
		w.limit = DefaultMaxDepth
		if w.MaxDepth < 0 {
			w.limit = math.MaxInt
		}
	}
	w.enter(MethodContext, false)
	w.key = 0
}

// slow is Next for the first frame, for the last, and for all but plain ones.
func (w *Walker) slow() bool {
	if w.stop != StopNone {
		return false
	}
	if w.depth == 1 {
		w.key = cacheKey(w.regs.PC, w.caller, false)
		return true
	}
	if w.cur.key != w.key { // another walk has used the slot meanwhile
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

// KernelOnly reports whether the thread never runs in user space, as those that io_uring starts for its process: the
// kernel gives such a thread registers that are all zero (copy_thread).
func (w *Walker) KernelOnly() bool {
	return w.regs.PC == 0 && w.regs.SP() == 0 && w.method == MethodContext
}

// Frame gives the frame that the last call of Next found.
func (w *Walker) Frame() Frame {
	f := Frame{PC: w.regs.PC, SP: w.regs.SP(), Module: w.module(), Method: w.method, Caller: w.caller && !w.exact}
	if !w.knowsSP() {
		f.SP = 0
	}
	f.FP = w.regs.fp()
	return f
}

// module gives the module of the current frame.
func (w *Walker) module() *Module { return w.space.module(w.mod) }

// Regs gives the registers of that frame, as far as they are known. They change
// with the next call of Next.
func (w *Walker) Regs() *Regs { return &w.regs }

// UnreadAddr gives the address that the walk could not read, after it has stopped with
// StopStackCut or StopBadMemory.
func (w *Walker) UnreadAddr() Addr { return w.unreadAddr }

// Searched reports whether the walk has ended with StopStackCut while it looked for any return address (the scan). No
// rule says that the stack has a word at [Walker.UnreadAddr].
func (w *Walker) Searched() bool { return w.searched }

// NoCodeAt gives the address of a call by which the walk has ended, as it lies in no module; 0 if there is none. The
// list of modules may be older than that code.
func (w *Walker) NoCodeAt() Addr { return w.noCode }

// StopReason says why the walk ended, StopNone while it has not.
func (w *Walker) StopReason() StopReason { return w.stop }

// enter makes w.regs the current frame and looks its rule up.
func (w *Walker) enter(m Method, caller bool) {
	w.enterAt(w.space.lookup(w.regs.PC, caller, false), m, caller)
}

// enterAt is enter where the rule was looked up already.
func (w *Walker) enterAt(e *entry, m Method, caller bool) {
	w.cur, w.key = e, e.key
	w.mod, w.exact = e.mod, e.exact
	w.caller, w.method = caller, m
}

// step replaces the registers with the caller's.
func (w *Walker) step() StopReason {
	r := w.cur.rule
	if r.Flags&FlagNone == 0 && !w.canApply(&r) {
		if w.untouched(&r) {
			return w.commit(&r)
		}
		if !w.knowsSP() {
			return w.scan()
		}
		var stop StopReason
		if r, stop = w.without(&r); stop != StopNone {
			return stop
		}
	}
	if r.Flags&FlagRoot != 0 {
		return StopRoot
	}
	if r.Flags&FlagNone != 0 {
		return w.scan()
	}
	stop := w.apply(&r)
	switch {
	case stop == StopNoRule: // what the rule says of the stack does not hold there
		return w.scan()
	case stop == StopStackCut || stop == StopBadMemory:
		w.lacks(&r)
	case stop != StopNone || r.Flags&FlagSignal != 0:
	case r.Method != MethodCFI && !w.plausible(), w.strays():
		return w.scan()
	case !w.knowsNext() && !w.space.follows(w.next.PC), w.nowhere():
		return StopNoRule
	}
	if stop != StopNone {
		return stop
	}
	if stop = w.commit(&r); stop == StopNone && r.Method != MethodCFI {
		w.space.vouch(w.cur, w.regs.PC)
	}
	return stop
}

// without gives a rule for a frame whose own rule needs a register that is not known. It is one that needs the
// stack pointer only, else the same if the register can be proven.
func (w *Walker) without(r *Rule) (Rule, StopReason) {
	if e := w.space.lookup(w.regs.PC, w.caller, true); e.rule.Flags&FlagNone == 0 {
		return e.rule, StopNone
	}
	if stop := w.prove(r); stop != StopNone {
		return Rule{}, stop
	}
	// The table of rows may be another by now.
	same := w.space.lookup(w.regs.PC, w.caller, false).rule
	same.Method = max(same.Method, MethodFP)
	return same, StopNone
}

// canApply reports whether the register that the CFA is relative to is known.
func (w *Walker) canApply(r *Rule) bool {
	if r.Flags&FlagRow != 0 && w.space.rows[r.row()].CFAExpr != nil {
		return true
	}
	return r.Flags&FlagRoot != 0 || w.regs.Known&(1<<(r.CFAReg%NumRegs)) != 0
}

// untouched tries a caller's rule whose CFA is relative to a register that a callee may change. OpenSSL's assembly
// keeps the stack pointer in rax or r11 and calls helpers that leave those alone. The register then has the value
// of the innermost frame. This is a hypothesis, and taken only if it proves itself: the frame lies further out, and
// its return address follows a call of this very function.
func (w *Walker) untouched(r *Rule) bool {
	bit := uint64(1) << (r.CFAReg % NumRegs)
	special := r.Flags&(FlagRow|FlagSignal|FlagSwitch|FlagLoss) != 0
	if !w.caller || r.CFAReg == w.regs.Arch.SP() || w.given&bit == 0 || special {
		return false
	}
	stop := w.apply(r) // reads the value, known or not
	if stop != StopNone || w.next.SP() <= w.regs.SP() {
		return false
	}
	start, known := w.space.funcStart(w.regs.PC - w.regs.Arch.CallLen())
	return w.calls(w.next.PC, start, known)
}

// plausible checks a caller that was found without call frame information. Its
// return address must follow a call, or both must be in generated code. Or it is a
// place that is returned to without a call, such as the stub that ends a signal.
func (w *Walker) plausible() bool {
	if w.next.PC == 0 {
		return true
	}
	if _, ok := w.space.callBefore(w.next.PC); ok || w.generated(w.next.PC) {
		return true
	}
	ok := w.space.lookup(w.next.PC, true, false).exact
	w.cur = w.space.lookup(w.regs.PC, w.caller, false)
	return ok
}

// nowhere reports whether the computed return address lies in no executable mapping. Call frame information then
// did not hold, or the code has gone, or it is newer than the list of modules.
func (w *Walker) nowhere() bool {
	pc := w.next.PC
	if pc == 0 || w.space.find(pc-w.regs.Arch.CallLen()) >= 0 {
		return false
	}
	none := w.space.lookup(pc, true, false).mod < 0
	w.cur = w.space.lookup(w.regs.PC, w.caller, false)
	if none {
		w.noCode = pc - w.regs.Arch.CallLen()
	}
	return none
}

// strays reports whether generated code would return to the first instruction of a function that is not generated, as
// if that were a stack's outermost frame. It is a pointer to a function that lies there: what is said of that code is
// of other code by now, or was not for that instruction.
func (w *Walker) strays() bool {
	m := w.module()
	if m == nil || !m.Generated || w.next.PC == 0 || w.space.follows(w.next.PC) {
		return false
	}
	e := w.space.lookup(w.next.PC, true, false)
	strays := e.exact && e.rule.Flags&FlagRoot != 0
	w.cur = w.space.lookup(w.regs.PC, w.caller, false)
	return strays
}

// commit takes the computed registers as the next frame, if the walk gets
// further out with them.
func (w *Walker) commit(r *Rule) StopReason {
	if w.next.PC == 0 {
		if m := w.module(); m != nil && m.Generated && m.NoFP {
			return StopNoRule // no thread begins in such code: its rule did not hold
		}
		return StopRoot
	}
	sp, old := w.next.SP(), w.regs.SP()
	switch {
	case r.Flags&(FlagSignal|FlagSwitch) != 0, sp == old && w.leaf(r), sp < old && w.changedStack():
		if w.switches++; w.switches > maxSwitches {
			return StopLoop
		}
		w.reach.stepped(old, sp, w.near(r))
	case sp <= old:
		return StopLoop
	case sp-old > largeStep && w.wasLed():
		w.reach.stepped(old, sp, 0)
	}
	w.regs = w.next
	w.enter(r.Method, r.Flags&FlagSignal == 0)
	if !w.knowsSP() {
		w.settleSP()
	}
	return StopNone
}

// changedStack reports whether this frame's function has loaded another stack's pointer, so that its caller's stack
// may lie anywhere. gcc's __morestack does so, and functions that call others on a stack of their own.
func (w *Walker) changedStack() bool {
	m := w.module()
	if m == nil {
		return false
	}
	s, ok := m.Calls.(Switches)
	return ok && s.ChangesStack(w.regs.PC-m.Bias, w.caller)
}

// leaf reports whether the caller's return address is in a register, so that its stack pointer may be this frame's.
// That is always possible on arm64, and on x86-64 where a function has taken it off the stack. Either a register
// has it (vfork), or it is the word below the stack pointer that was just popped (OCaml's caml_c_call), which can
// be so in the innermost frame only.
func (w *Walker) leaf(r *Rule) bool {
	popped := !w.caller && r.Method == MethodCFI && r.CFAReg == X86RSP && r.CFAOff == 0
	return w.next.PC != w.regs.PC && (w.regs.Arch != X86_64 || r.Flags&FlagRow != 0 || popped)
}

// missing classifies a place that cannot be read.
func (w *Walker) missing(addr Addr) StopReason {
	w.unreadAddr = addr
	if w.mem.Cut(addr) {
		return StopStackCut
	}
	return StopBadMemory
}
