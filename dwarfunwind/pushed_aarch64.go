// SPDX-License-Identifier: Apache-2.0

package dwarfunwind

import "prywalk/frames"

// adjustSPAArch64 corrects a caller's stack pointer that is not the CFA: the return address lies above it, pushed by
// code that jumped here (a PLT's first entry, before glibc's resolver), or the CFA is a buffer.
func (t *Table) adjustSPAArch64(f *fde) {
	sp, ra := &t.row.Regs[frames.ARM64SP], &t.row.RA
	above := int64(0)
	switch {
	case t.row.CFAReg <= lastScratchA64 && sp.Kind == frames.RuleSame && t.row.CFAExpr == nil:
		*sp = frames.RegRule{Kind: frames.RuleUndefined}
	case ra.Kind == frames.RuleOffset && ra.Off >= 0:
		above = pushedBytes(ra.Off)
	default:
		above = t.machine.bytesPushedBefore(f)
	}
	if above > 0 {
		*sp = frames.RegRule{Kind: frames.RuleValOffset, Off: above}
	}
	t.rowRegsSet |= 1 << frames.ARM64SP
}

// lastScratchA64 is the last register that a call may change (AAPCS64 §6.1.1). A CFA relative to one is a buffer, from
// which longjmp and setcontext load registers; its stack pointer is not described.
const lastScratchA64 = 18

// pushedBytes returns the bytes pushed if the last word is at off from the CFA (AAPCS64 §6.4.5.1: multiples of 16).
func pushedBytes(off int64) int64 { return (off + 8 + 15) &^ 15 }

// bytesPushedBefore returns the bytes pushed before a function began, by the row of its second instruction: glibc's
// resolver describes its return address only behind the landing place ("bti c" or nop). It is 0 unless the machine has
// run to the end of the first row.
func (m *machine) bytesPushedBefore(f *fde) int64 {
	if m.cfaReg != frames.ARM64SP || m.cfaOff != 0 || m.loc != f.start+4 {
		return 0
	}
	first, prog, ok := *m, f.prog, true
	for ok && prog.Pos < len(prog.Bytes) && m.loc == first.loc {
		ok = m.step(&prog)
	}
	ra := m.regs[frames.ARM64LR]
	cfa := m.cfaReg == frames.ARM64SP && m.cfaOff == 0
	*m = first
	if !ok || prog.Bad || !cfa || f.cie.ra != uint64(frames.ARM64LR) || ra.kind != frames.RuleOffset || ra.off < 0 {
		return 0
	}
	return pushedBytes(ra.off)
}
