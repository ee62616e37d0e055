// SPDX-License-Identifier: Apache-2.0

package frames

// A frame record of arm64 (AAPCS64 §6.4.6) may be anywhere in its frame: GCC puts it below the local variables, LLVM
// and V8 above. It gives only a lower bound of the caller's stack pointer, which is in Regs.Val without a bit in
// Regs.Known. glibc's call frame information of longjmp gives no stack pointer either.
//
//	        ┌──────────────────┐ ◄── caller's stack pointer: unknown, at or above the record's end
//	        │ …                │
//	        │ return address   │ +8
//	x29 ──► │ caller's x29     │ +0
//	        └──────────────────┘

func (c *callerStep) knowsSP() bool { return c.regs.Known&(1<<c.arch.sp) != 0 }

func (c *callerStep) knowsNextSP() bool { return c.next.Known&(1<<c.arch.sp) != 0 }

// nextSP may be a lower bound.
func (c *callerStep) nextSP() Addr { return c.next.Val[c.arch.sp%NumRegs] }

// findSPByRecord finds the stack pointer if the rule says where the frame's own record is: CFA = x29 + (CFA − place of
// x29). The record's return address must follow a call that can have led to this function, which then has set x29.
func (w *Walker) findSPByRecord() {
	fp, ok := w.frame.regs.Get(w.frame.arch.fp)
	recordToCFA, spToCFA, placed := w.frame.resolved.recordPlace(w.frame.arch)
	if !ok || !placed || w.frame.arch.raOnStack {
		return
	}
	sp := fp + recordToCFA - spToCFA
	if sp < w.frame.regs.SP() || sp > fp || sp%16 != 0 {
		return
	}
	ra, ok := w.frame.mem.Word(fp + 8)
	if ok && w.frame.space.isReturnAddressOf(ra&^w.frame.regs.PACMask, w.frame.currentFunction()) {
		w.frame.regs.Set(w.frame.arch.sp, sp)
	}
}

// recordPlace returns CFA − place of the frame record, and CFA − stack pointer, in bytes; false unless the rule is
// relative to the stack pointer and saves x29 and the link register side by side.
func (r *resolvedRule) recordPlace(arch *archInfo) (recordToCFA, spToCFA uint64, ok bool) {
	switch {
	case r.rule.CFAReg != arch.sp || r.rule.Flags != 0:
		return 0, 0, false
	case r.row == nil:
		return 8 * uint64(r.rule.Saved[0]), uint64(int64(r.rule.CFAOff)), r.rule.Saved[0] >= 2 &&
			r.rule.Saved[1] == r.rule.Saved[0]-1
	}
	row, x29 := r.row, &r.row.Regs[arch.fp]
	plain := row.CFAExpr == nil && !row.CFADeref && x29.Kind == RuleOffset && row.RA.Kind == RuleOffset
	return uint64(-x29.Off), uint64(row.CFAOff), plain && x29.Off <= -16 && row.RA.Off == x29.Off+8
}
