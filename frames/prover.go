// SPDX-License-Identifier: Apache-2.0

package frames

// Prover is an [Expr] for the CFA of code that runs in the frame of another function, such as code of a JIT compiler in
// the frame of its interpreter. Where that frame lies follows from what the runtime keeps of its code, and is
// believed only if the stack shows such a frame there.
type Prover interface {
	Expr
	// Prove gives the CFA; ok is false if nothing is proven. unread is then the address of the word that
	// could not be read, 0 if none. pc tells the instruction that the frame is at, at its run-time address.
	Prove(regs *Regs, mem Memory, pc Addr) (cfa, unread Addr, ok bool)
}

// proved gives the CFA by a Prover. StopNoRule says that it does not hold.
func (w *Walker) proved(p Prover) (Addr, StopReason) {
	pc := w.regs.PC
	if w.caller {
		pc -= w.regs.Arch.CallLen()
	}
	cfa, unread, ok := p.Prove(&w.regs, w.mem, pc)
	switch {
	case ok:
		return cfa, StopNone
	case unread != 0:
		return 0, w.missing(unread)
	}
	return 0, StopNoRule
}
