// SPDX-License-Identifier: Apache-2.0

package frames

// LeftStack finds where a thread has left a stack for code without rules: a goroutine's, for code that WebAssembly was
// compiled to, which has a stack of its own.
type LeftStack interface {
	// FindLeft returns the innermost frame there; false: it is not known. regs are those of the outermost known frame of
	// the code without rules.
	FindLeft(regs *Regs, mem Memory) (LeftFrame, bool)
}

// LeftFrame is the innermost frame of a stack that a thread has left.
type LeftFrame struct {
	PC, SP Addr   // return address, and the stack pointer after the return
	Method Method // MethodHeuristic: the runtime has saved the place; MethodScan: it was searched
}

// SetLeftStacks sets what finds left stacks, in this order.
func (s *Space) SetLeftStacks(left []LeftStack) { s.left = left }

// stepToLeftStack goes on at a left stack. Between the two frames may be others. It returns stop if there is none.
func (w *Walker) stepToLeftStack(stop StopReason) StopReason {
	if w.tookLeftStack || w.isTrial {
		return stop
	}
	for _, left := range w.space.left {
		f, ok := left.FindLeft(&w.regs, w.mem)
		if !ok {
			continue
		}
		w.tookLeftStack = true
		w.spWord = 0
		w.next.begin(0)
		w.next.PC = f.PC
		w.next.Set(w.arch.sp, f.SP)
		return w.moveByRule(&resolvedRule{Rule: Rule{Flags: FlagStackSwitch, Method: f.Method}})
	}
	return stop
}
