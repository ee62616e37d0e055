// SPDX-License-Identifier: Apache-2.0

package frames

// LeftStack finds where a thread has left a stack: a goroutine's, for code without rules that WebAssembly was compiled
// to; a program's, for Valgrind, which runs on a stack of its own.
type LeftStack interface {
	// FindLeft returns the innermost frame there, or false if it is not known. regs are those of the outermost known
	// frame. stop is StopRoot if the thread's own stack ends there, else there is no rule.
	FindLeft(regs *Regs, mem Memory, stop StopReason) (LeftFrame, bool)
}

// LeftFrame is the innermost frame of a stack that a thread has left.
type LeftFrame struct {
	PC, SP Addr   // return address, and the stack pointer after the return
	Method Method // MethodHeuristic if the runtime has saved the place, MethodScan if it was searched
	// Interrupted means that PC is no return address, and FP is the frame pointer.
	Interrupted bool
	FP          Addr
	SavedSP     Addr // the word that has SP, or 0
	Unread      Addr // a word that FindLeft could not read, or 0; of the others only SavedSP counts then
}

// SetLeftStacks sets what finds left stacks, in this order.
func (s *Space) SetLeftStacks(left []LeftStack) { s.left = left }

// stepToLeftStack goes on at a left stack. Between the two frames may be others. It returns stop if there is none.
func (w *Walker) stepToLeftStack(stop StopReason) StopReason {
	if w.progress.tookLeftStack || w.isTrial {
		return stop
	}
	for _, left := range w.frame.space.left {
		f, ok := left.FindLeft(&w.frame.regs, w.frame.mem, stop)
		if !ok && f.Unread == 0 {
			continue
		}
		r := resolvedRule{rule: Rule{Flags: FlagStackSwitch, Method: f.Method}}
		w.frame.spWord = f.SavedSP
		if f.Unread != 0 {
			stop = w.frame.stopAtUnread(f.Unread)
			w.trackUnread(&r)
			return stop
		}
		w.progress.tookLeftStack = true
		w.frame.next.begin(0)
		w.frame.next.PC = f.PC
		w.frame.next.Set(w.frame.arch.sp, f.SP)
		if f.Interrupted {
			r.rule.Flags |= FlagExactPC
			w.frame.next.Set(w.frame.arch.fp, f.FP)
		}
		return w.moveByRule(&r)
	}
	return stop
}

// CFAFinder is an [Expr] for the CFA of code that runs in another function's frame, as JIT code in its interpreter's.
// It finds that frame in the runtime's data.
type CFAFinder interface {
	Expr
	// FindCFA returns the CFA of the frame at pc. If it is not found, unread is the word that could not be read, or 0.
	FindCFA(regs *Regs, mem Memory, pc Addr) (cfa, unread Addr, ok bool)
}

func (c *callerStep) finderCFA(finder CFAFinder) (Addr, StopReason) {
	cfa, unread, ok := finder.FindCFA(&c.regs, c.mem, c.regs.Arch.lookupPC(c.regs.PC, !c.interrupted))
	switch {
	case ok:
		return cfa, StopNone
	case unread != 0:
		return 0, c.stopAtUnread(unread)
	}
	return 0, StopNoRule
}
