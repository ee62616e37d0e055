// SPDX-License-Identifier: Apache-2.0

package dwarfunwind

import "prywalk/frames"

// aboveCFA corrects the caller's stack pointer where the return address lies above the
// CFA. No function finds it there: the code that jumped to this one has pushed it. So
// does the first entry of a procedure linkage table of arm64, and glibc's resolver,
// which it jumps to, gives a CFA below what was pushed.
func (t *Table) aboveCFA() {
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

// lastScratchA64 is the last of the registers that a call may change (AAPCS64 §6.1.1). A CFA that is
// relative to one of these is no frame of the stack: it is the buffer that longjmp and setcontext load
// registers from. Where the stack pointer is in it glibc does not say.
const lastScratchA64 = 18

// roomAbove gives how much was pushed if the last word of it is at an offset from the
// CFA: the stack pointer is a multiple of 16 (AAPCS64 §6.4.5.1).
func roomAbove(off int64) int64 { return (off + 8 + 15) &^ 15 }

// pushedBefore tells how much was pushed before a function began, in bytes, from the row of its second instruction.
// glibc's resolver says where the return address is only behind its first one, a landing place ("bti c", or a nop
// in its place). At the first the row is that of any function, which would leave what was pushed on the caller's
// stack. The machine has run to the end of the first instruction's row, and goes on.
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
