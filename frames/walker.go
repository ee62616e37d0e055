// SPDX-License-Identifier: Apache-2.0

package frames

import "math"

// DefaultMaxDepth is the most frames of a walk without a limit of its own.
const DefaultMaxDepth = 1024

// Walker iterates over the frames of one stack, innermost first, without allocation. The zero value is ready for Init,
// and so is a used one.
type Walker struct {
	// MaxDepth limits the number of frames. 0 means DefaultMaxDepth, a negative number no limit.
	MaxDepth int

	callerStep       // with the current frame
	progress         // since Init
	limit            int
	snap             *Snapshot       // mem, if it is a Snapshot
	ruleWithFoundReg resolvedRule    // the current frame's rule, once its register was found on the stack
	search           *registerSearch // kept from walk to walk; nil before the first search
	isTrial          bool            // the walk tries a candidate of another walk's search
}

// progress is how far a walk has come.
type progress struct {
	depth          int // calls of Next
	stopReason     StopReason
	unmappedPC     Addr
	scanWasCut     bool
	stackChanges   int
	tracker        stackTracker
	searchesBegun  int // searches for registers
	registersFound int
}

// Init starts a walk at a copy of regs. space and mem must not change until it ends.
func (w *Walker) Init(space *Space, regs *Regs, mem Memory) {
	w.space, w.mem = space, mem
	w.regs = *regs
	w.arch = regs.Arch.info()
	w.knownInnermost = regs.Known
	w.stackCopy = Region{}
	if w.snap, _ = mem.(*Snapshot); w.snap != nil {
		w.stackCopy = w.snap.Stack
	}
	w.progress = progress{}
	switch {
	case w.MaxDepth > 0:
		w.limit = w.MaxDepth
	case w.MaxDepth < 0:
		w.limit = math.MaxInt
	default:
		w.limit = DefaultMaxDepth
	}
	w.enter(w.space.lookup(Query{PC: w.regs.PC}), MethodContext, true)
}

// Next moves to the next frame, at first to the innermost. It returns false at the end, with the reason in
// [Walker.StopReason].
func (w *Walker) Next() bool {
	if w.stopReason != StopNone {
		return false
	}
	w.depth++
	switch {
	case w.depth == 1: // the innermost frame
	case w.rule.Flags&FlagRoot != 0, w.KernelOnly():
		w.stopReason = StopRoot
	case w.depth > w.limit:
		w.stopReason = StopDepth
	default:
		w.stopReason = w.step()
	}
	return w.stopReason == StopNone
}

// KernelOnly reports whether the thread never runs in user space, as io_uring's: its registers are zero (copy_thread).
func (w *Walker) KernelOnly() bool {
	return w.regs.PC == 0 && w.regs.SP() == 0 && w.method == MethodContext
}

// Frame returns the current frame.
func (w *Walker) Frame() Frame {
	f := Frame{PC: w.regs.PC, SP: w.regs.SP(), Module: w.rule.mod, Method: w.method, AfterCall: w.isAfterCall()}
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

// FoundRegs returns the number of registers found on the stack (registersearch.go).
func (w *Walker) FoundRegs() int { return w.registersFound }

// StopReason returns why the walk ended, StopNone while it has not.
func (w *Walker) StopReason() StopReason { return w.stopReason }

// enter makes w.regs the current frame. r is the rule there.
func (w *Walker) enter(r *resolvedRule, m Method, interrupted bool) {
	w.rule, w.method, w.interrupted = r, m, interrupted
}
