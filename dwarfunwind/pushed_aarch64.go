// SPDX-License-Identifier: Apache-2.0

package dwarfunwind

import "prywalk/frames"

// adjustForPushedRA corrects the caller's stack pointer where the return address lies above the CFA: code that jumped
// to this function has pushed it, as the first entry of a procedure linkage table does before glibc's resolver.
func (t *Table) adjustForPushedRA() {
	if t.arch != frames.AArch64 {
		return
	}
	if sp := &t.row.Regs[t.arch.SP()]; t.row.CFAReg <= lastScratchA64 && sp.Kind == frames.RuleSame &&
		t.row.CFAExpr == nil {
		*sp = frames.RegRule{Kind: frames.RuleUndefined}
		t.dirty |= 1 << t.arch.SP()
		return
	}
	above := t.pushed
	if ra := &t.row.RA; ra.Kind == frames.RuleOffset && ra.Off >= 0 {
		above = roomAbove(ra.Off)
	}
	if above > 0 {
		sp := t.arch.SP()
		t.row.Regs[sp] = frames.RegRule{Kind: frames.RuleValOffset, Off: above}
		t.dirty |= 1 << sp
	}
}

// lastScratchA64 is the last register that a call may change (AAPCS64 §6.1.1). A CFA relative to one is a buffer, from
// which longjmp and setcontext load registers; where it has the stack pointer is not described.
const lastScratchA64 = 18

// roomAbove returns the bytes pushed if the last word is at off from the CFA. The stack pointer is a multiple of 16
// (AAPCS64 §6.4.5.1).
func roomAbove(off int64) int64 { return (off + 8 + 15) &^ 15 }

// pushedBefore returns the bytes pushed before a function began, by the row of its second instruction: glibc's
// resolver describes its return address only behind the landing place ("bti c" or nop). Precondition: the machine has
// run to the end of the first row.
func (m *machine) pushedBefore(f *fde) int64 {
	if m.cfaReg != frames.ARM64SP || m.cfaOff != 0 || m.loc != f.start+4 {
		return 0
	}
	first, loc := m.state, m.loc
	ok := true
	for ok && f.prog.Pos < len(f.prog.Bytes) && m.loc == loc {
		ok = m.step(&f.prog)
	}
	ra := m.regs[frames.ARM64LR]
	cfa := m.cfaReg == frames.ARM64SP && m.cfaOff == 0
	m.state, m.loc = first, loc
	if !ok || f.prog.Bad || !cfa || f.cie.ra != uint64(frames.ARM64LR) || ra.kind != frames.RuleOffset || ra.off < 0 {
		return 0
	}
	return roomAbove(ra.off)
}
