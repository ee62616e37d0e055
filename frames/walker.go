// SPDX-License-Identifier: Apache-2.0

package frames

import "math"

// DefaultMaxDepth is the limit of frames if [Walker.MaxDepth] is 0.
const DefaultMaxDepth = 1024

// Walker iterates over the frames of one stack, innermost first. The zero value and a used one are ready for Init.
type Walker struct {
	// MaxDepth limits the number of frames. 0 means DefaultMaxDepth, a negative number no limit.
	MaxDepth int

	frame    callerStep // with the current frame
	progress progress   // since Init
	limit    int
	snap     *Snapshot       // mem, if it is one
	search   *registerSearch // nil before the first search
	isTrial  bool            // the walk is a trial of another walk's search
}

type progress struct {
	depth          int // calls of Next
	stopReason     StopReason
	tookLeftStack  bool
	stackChanges   int
	tracker        stackTracker
	searchesBegun  int // for registers
	registersFound int
}

// Init starts a walk at a copy of regs. space and mem must not change until it ends.
func (w *Walker) Init(space *Space, regs *Regs, mem Memory) {
	w.frame.space, w.frame.mem = space, mem
	w.frame.regs = *regs
	w.frame.arch = regs.Arch.info()
	w.frame.knownInnermost = regs.Known
	w.snap, _ = mem.(*Snapshot)
	w.progress = progress{}
	switch {
	case w.MaxDepth > 0:
		w.limit = w.MaxDepth
	case w.MaxDepth < 0:
		w.limit = math.MaxInt
	default:
		w.limit = DefaultMaxDepth
	}
	w.frame.resolved, w.frame.method, w.frame.interrupted = w.frame.space.lookup(w.frame.regs.PC, 0), MethodContext, true
}

// Next moves to the next frame, at first to the innermost. It returns false at the end ([Walker.StopReason]).
func (w *Walker) Next() bool {
	if w.progress.stopReason != StopNone {
		return false
	}
	w.progress.depth++
	switch {
	case w.progress.depth == 1: // the innermost frame
	case w.frame.resolved.rule.Flags&FlagRoot != 0, w.KernelOnly():
		w.progress.stopReason = StopRoot
	case w.progress.depth > w.limit:
		w.progress.stopReason = StopDepth
	default:
		w.progress.stopReason = w.step()
	}
	if w.progress.stopReason == StopRoot {
		w.progress.stopReason = w.stepToLeftStack(StopRoot)
	}
	return w.progress.stopReason == StopNone
}

// KernelOnly reports whether the thread never runs in user space, as io_uring's: its registers are zero (copy_thread).
func (w *Walker) KernelOnly() bool {
	return w.frame.regs.PC == 0 && w.frame.regs.SP() == 0 && w.frame.method == MethodContext
}

// Frame returns the current frame.
func (w *Walker) Frame() Frame {
	f := Frame{
		PC: w.frame.regs.PC, FP: w.frame.regs.fp(), Module: w.frame.resolved.mod, Method: w.frame.method,
		AfterCall: w.frame.isAfterCall(),
	}
	if w.frame.knowsSP() {
		f.SP = w.frame.regs.SP()
	}
	return f
}

// Regs returns the current frame's registers, valid until the next Next.
func (w *Walker) Regs() *Regs { return &w.frame.regs }

// UnreadAddr returns the word that ended the walk, after StopStackCut or StopBadMemory.
func (w *Walker) UnreadAddr() Addr { return w.frame.unreadAddr }

// FoundRegs returns the number of registers found on the stack.
func (w *Walker) FoundRegs() int { return w.progress.registersFound }

// StopReason returns StopNone before the end.
func (w *Walker) StopReason() StopReason { return w.progress.stopReason }
