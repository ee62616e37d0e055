// SPDX-License-Identifier: Apache-2.0

package frames

// A frame record of arm64 is the pair of the caller's x29 and the return address,
// and x29 points to it (AAPCS64 §6.4.6). It may lie anywhere in its frame: GCC puts
// it below the local variables, LLVM and V8 above them. So a record tells the
// caller's program counter and x29, and of its stack pointer only that it is not
// below the record's end. Regs.Val then holds that bound and Regs.Known lacks the
// bit, so that no rule is applied to it. The same is done where call frame information
// describes a frame that registers are loaded for, as in glibc's longjmp, and gives no
// place of its stack pointer.

// knowsSP reports whether the frame's stack pointer is known.
func (w *Walker) knowsSP() bool { return w.regs.Known&(1<<w.regs.Arch.SP()) != 0 }

// knowsNext reports whether the caller's stack pointer is known.
func (w *Walker) knowsNext() bool { return w.next.Known&(1<<w.next.Arch.SP()) != 0 }

// settleSP finds the stack pointer of a frame of which a record told the program
// counter and x29 only. Its own rule may say where the function has put its record.
// x29 points to that, so that the CFA is as far above x29 as the rule has it above the
// place of the caller's x29. That the function has set x29 up is shown by the
// record: its return address must follow a call of this very function.
func (w *Walker) settleSP() {
	info := w.regs.Arch.info()
	fp, ok := w.regs.Get(info.fp)
	above, cfaOff, placed := w.recordPlace(&w.cur.rule)
	if !ok || !placed {
		return
	}
	sp := fp + above - cfaOff
	start, known := w.space.funcStart(w.regs.PC - w.regs.Arch.CallLen())
	ra, ok := w.mem.Word(fp + 8)
	if ok && sp >= w.regs.SP() && sp <= fp && sp%16 == 0 && w.calls(ra&^w.regs.PACMask, start, known) {
		w.regs.Set(info.sp, sp)
	}
}

// recordPlace gives how far the CFA is above the frame record and above the stack pointer, by a rule that is
// relative to the stack pointer. It is false for other rules and where x29 and the link register are not saved side
// by side.
func (w *Walker) recordPlace(r *Rule) (above, cfaOff uint64, ok bool) {
	sp, fp := w.regs.Arch.SP(), w.regs.Arch.FP()
	switch {
	case r.CFAReg != sp || r.Flags&^(FlagRow|FlagLoss) != 0:
		return 0, 0, false
	case r.Flags&FlagRow == 0:
		return 8 * uint64(r.Saved[0]), uint64(int64(r.CFAOff)), r.Saved[0] >= 2 && r.Saved[1] == r.Saved[0]-1
	}
	row := w.space.rows[r.row()]
	x29 := &row.Regs[fp]
	plain := row.CFAExpr == nil && !row.CFADeref && x29.Kind == RuleOffset && row.RA.Kind == RuleOffset
	return uint64(-x29.Off), uint64(row.CFAOff), plain && x29.Off <= -16 && row.RA.Off == x29.Off+8
}
