// SPDX-License-Identifier: Apache-2.0

package frames

// A frame record of arm64 (AAPCS64 §6.4.6) may be anywhere in its frame: GCC puts it below the local variables, LLVM
// and V8 above. It gives only a lower bound of the caller's stack pointer: Regs.Val has it, Regs.Known lacks the bit.
// So has call frame information that does not describe the stack pointer (glibc's longjmp).
//
//	        ┌──────────────────┐ ◄── caller's stack pointer: unknown, at or above the record's end
//	        │ …                │
//	        │ return address   │ +8
//	x29 ──► │ caller's x29     │ +0
//	        └──────────────────┘

func (c *callerStep) knowsSP() bool { return c.regs.Known&(1<<c.regs.Arch.SP()) != 0 }

func (c *callerStep) knowsNextSP() bool { return c.next.Known&(1<<c.next.Arch.SP()) != 0 }

// findSPByRecord finds the stack pointer of a frame found by a frame record, if its rule says where its own record is:
// CFA = x29 + (CFA − place of x29). The record's return address must follow a call of this function, which then has set
// x29.
func (w *Walker) findSPByRecord() {
	info := w.regs.Arch.info()
	fp, ok := w.regs.Get(info.fp)
	above, cfaOff, placed := w.space.recordPlace(&w.cur.rule)
	if !ok || !placed {
		return
	}
	sp := fp + above - cfaOff
	start, known := w.space.funcStart(w.regs.PC - w.regs.Arch.CallLen())
	ra, ok := w.mem.Word(fp + 8)
	if ok && sp >= w.regs.SP() && sp <= fp && sp%16 == 0 && w.space.isReturnAddressOf(ra&^w.regs.PACMask, start, known) {
		w.regs.Set(info.sp, sp)
	}
}

// recordPlace returns CFA − place of the frame record, and CFA − stack pointer; false unless the rule is relative to
// the stack pointer and saves x29 and the link register side by side.
func (s *Space) recordPlace(r *Rule) (above, cfaOff uint64, ok bool) {
	sp, fp := s.Arch.SP(), s.Arch.FP()
	switch {
	case r.CFAReg != sp || r.Flags&^(FlagRow|FlagLosesRegs) != 0:
		return 0, 0, false
	case r.Flags&FlagRow == 0:
		return 8 * uint64(r.Saved[0]), uint64(int64(r.CFAOff)), r.Saved[0] >= 2 && r.Saved[1] == r.Saved[0]-1
	}
	row := s.rows[r.row()]
	x29 := &row.Regs[fp]
	plain := row.CFAExpr == nil && !row.CFADeref && x29.Kind == RuleOffset && row.RA.Kind == RuleOffset
	return uint64(-x29.Off), uint64(row.CFAOff), plain && x29.Off <= -16 && row.RA.Off == x29.Off+8
}
