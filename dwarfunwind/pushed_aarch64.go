// SPDX-License-Identifier: Apache-2.0

package dwarfunwind

import "prywalk/frames"

// adjustSPARM64 sets the caller's stack pointer where it is not the CFA: the return address lies above it, pushed by
// code that jumped here (a PLT's first entry, before glibc's resolver), or the CFA is a buffer.
func (t *Table) adjustSPARM64(f *fde) {
	row := &t.machine.row
	sp, ra := &row.Regs[frames.ARM64SP], &row.RA
	above := int64(0)
	switch {
	case row.CFAReg <= lastScratchARM64 && sp.Kind == frames.RuleSame && row.CFAExpr == nil:
		*sp = frames.RegRule{Kind: frames.RuleUndefined}
	case ra.Kind == frames.RuleOffset && ra.Off >= 0:
		above = pushedBytes(ra.Off)
	default:
		above = t.machine.bytesPushedBefore(f)
	}
	if above > 0 {
		*sp = frames.RegRule{Kind: frames.RuleValOffset, Off: above}
	}
}

// A CFA relative to x0 to x18, which a call may change (AAPCS64 §6.1.1), is a buffer from which longjmp and setcontext
// load registers.
const lastScratchARM64 = 18

// pushedBytes returns the size of pushes whose last word is at off from the CFA: a multiple of 16 (AAPCS64 §6.4.5.1).
func pushedBytes(off int64) int64 { return (off + 8 + 15) &^ 15 }

// bytesPushedBefore returns the bytes pushed before the function began, as the row of its second instruction shows:
// glibc's resolver describes its return address only behind the landing place ("bti c" or nop). The result is 0 unless
// the machine has run to the end of the first row.
func (m *machine) bytesPushedBefore(f *fde) int64 {
	if !m.cfaIsSP() || m.loc != f.start+4 {
		return 0
	}
	first, prog, ok := *m, f.prog, true
	for ok && prog.Pos < len(prog.Bytes) && m.loc == first.loc {
		ok = m.step(&prog)
	}
	ra := m.row.Regs[frames.ARM64LR]
	cfa := m.cfaIsSP()
	*m = first
	if !ok || !cfa || f.cie.ra != uint64(frames.ARM64LR) || ra.Kind != frames.RuleOffset || ra.Off < 0 {
		return 0
	}
	return pushedBytes(ra.Off)
}

func (m *machine) cfaIsSP() bool {
	return m.row.CFAReg == frames.ARM64SP && m.row.CFAOff == 0 && m.row.CFAExpr == nil
}
