// SPDX-License-Identifier: Apache-2.0

package golang

import "prywalk/frames"

// cgoCFA computes the CFA of asmcgocall from what it keeps on the stack that C
// code runs on.
type cgoCFA struct {
	frame    int32 // what to add to the old stack pointer to get the CFA
	g, depth int64 // offsets of the two words from the stack pointer
	sp, fp   uint8
	fpOff    int32 // CFA from the frame pointer, where g cannot be read; 0: none
}

// Eval implements [frames.Expr].
func (e cgoCFA) Eval(regs *frames.Regs, mem frames.Memory, _ uint64) (uint64, bool) {
	sp, _ := regs.Get(e.sp)
	g, ok := mem.Word(sp + uint64(e.g))
	depth, ok2 := mem.Word(sp + uint64(e.depth))
	if !ok || !ok2 {
		return 0, false
	}
	if g == 0 { // was on a system stack already: the word is its pointer
		return depth + uint64(e.frame), true
	}
	if hi, ok := mem.Word(g + 8); ok { // g.stack.hi
		return hi - depth + uint64(e.frame), true
	}
	fp, ok := regs.Get(e.fp)
	return fp + uint64(e.fpOff), ok && e.fpOff != 0
}

// schedExpr gives a field of curg.sched, plus add, while the thread is on the stack of its scheduler below what left
// the goroutine's: morestack or systemstack. Where the thread runs no goroutine any more, or one that did not come by
// that way, morestack's stack ends: its pc is 0. systemstack's cannot be followed then.
type schedExpr struct {
	t    *Table
	c    Chase
	pc   uint64 // of the query, in the file: its difference to regs.PC is the bias
	off  int64
	add  uint64
	left kind // kindMorestack or kindSystemStack
}

// Eval implements [frames.Expr].
func (e schedExpr) Eval(regs *frames.Regs, mem frames.Memory, _ uint64) (uint64, bool) {
	g, ok := e.c.curg(regs, mem)
	if !ok || g == 0 {
		return 0, ok && e.left == kindMorestack
	}
	pc, ok := mem.Word(g + uint64(e.c.SchedPC))
	if !ok {
		return 0, false
	}
	pc -= regs.PC - e.pc
	switch {
	case e.left == kindSystemStack && !e.t.inSwitch(pc):
		return 0, false
	case e.left == kindMorestack && !e.t.callsMorestack(pc):
		return 0, true
	}
	v, ok := mem.Word(g + uint64(e.off))
	return v + e.add, ok
}

// inSwitch reports whether pc is what systemstack saves as the goroutine's: of an empty function of that name.
func (t *Table) inSwitch(pc uint64) bool {
	f, ok := t.find(pc)
	return ok && string(t.name(&f)) == "runtime.systemstack_switch"
}

// callsMorestack reports whether the call that returns to ret is of morestack.
func (t *Table) callsMorestack(ret uint64) bool {
	target, ok := t.callBeforeX86(ret)
	if t.img.Arch == frames.AArch64 {
		target, ok = t.callBeforeARM64(ret)
	}
	if !ok {
		return false
	}
	f, ok := t.find(target)
	if !ok || f.entry != target {
		return false
	}
	name := string(t.name(&f))
	return name == "runtime.morestack" || name == "runtime.morestack_noctxt" || name == "runtime.morestackc"
}
