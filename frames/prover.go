// SPDX-License-Identifier: Apache-2.0

package frames

// Prover is an [Expr] for the CFA of code that runs in the frame of another function, as JIT code in that of its
// interpreter. The data of the run-time system give the place. It is accepted only if the stack has such a frame there.
type Prover interface {
	Expr
	// Prove gives the CFA of the frame at pc, a run-time address. ok is false if it is not proven. unread is then the
	// address of the word that could not be read, or 0.
	Prove(regs *Regs, mem Memory, pc Addr) (cfa, unread Addr, ok bool)
}

// proved gives the CFA of a Prover. It gives StopNoRule if that is not proven.
func (u *unwinder) proved(p Prover) (Addr, StopReason) {
	pc := u.regs.PC
	if u.caller {
		pc -= u.regs.Arch.CallLen()
	}
	cfa, unread, ok := p.Prove(&u.regs, u.mem, pc)
	switch {
	case ok:
		return cfa, StopNone
	case unread != 0:
		return 0, u.missing(unread)
	}
	return 0, StopNoRule
}
