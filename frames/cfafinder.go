// SPDX-License-Identifier: Apache-2.0

package frames

// CFAFinder is an [Expr] for the CFA of code that runs in another function's frame, as JIT code in its interpreter's.
// It finds that frame in the runtime's data.
type CFAFinder interface {
	Expr
	// FindCFA returns the CFA of the frame at pc, a run-time address. If it is not found, unread is the word that could
	// not be read, or 0.
	FindCFA(regs *Regs, mem Memory, pc Addr) (cfa, unread Addr, ok bool)
}

func (c *callerStep) finderCFA(finder CFAFinder) (Addr, StopReason) {
	pc := c.regs.PC
	if !c.interrupted {
		pc -= c.regs.Arch.CallLen()
	}
	cfa, unread, ok := finder.FindCFA(&c.regs, c.mem, pc)
	switch {
	case ok:
		return cfa, StopNone
	case unread != 0:
		return 0, c.stopAtUnread(unread)
	}
	return 0, StopNoRule
}
