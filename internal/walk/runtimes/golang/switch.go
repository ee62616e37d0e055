// SPDX-License-Identifier: Apache-2.0

package golang

import "prywalk/frames"

// cgoCFA is the CFA of asmcgocall from C code's stack (cgoCallX86).
type cgoCFA struct {
	frame    int32 // CFA minus the old stack pointer
	g, depth int64 // of the saved words, from sp
	sp, fp   uint8
	fpOff    int32 // if g is unreadable, CFA from the frame pointer
}

// Eval implements [frames.Expr].
func (c cgoCFA) Eval(regs *frames.Regs, mem frames.Memory, _ uint64) (uint64, bool) {
	sp, _ := regs.Get(c.sp)
	g, ok := mem.Word(sp + uint64(c.g))
	depth, ok2 := mem.Word(sp + uint64(c.depth))
	if !ok || !ok2 {
		return 0, false
	}
	if g == 0 { // the old system stack's pointer
		return depth + uint64(c.frame), true
	}
	if hi, ok := mem.Word(g + 8); ok { // g.stack.hi
		return hi - depth + uint64(c.frame), true
	}
	fp, ok := regs.Get(c.fp)
	return fp + uint64(c.fpOff), ok && c.fpOff != 0
}

// gobufExpr is a field of curg.sched plus add, for morestack or systemstack on the scheduler's stack. Without such a
// goroutine morestack's is 0 and systemstack has none.
type gobufExpr struct {
	t      *rules
	c      GOffsets
	pc     uint64 // in the file: the bias is regs.PC − pc
	off    int64
	add    uint64
	leftBy funcKind // kindMorestack or kindSystemStack
}

// Eval implements [frames.Expr].
func (e gobufExpr) Eval(regs *frames.Regs, mem frames.Memory, _ uint64) (uint64, bool) {
	g, ok := e.c.curg(regs, mem)
	if !ok || g == 0 {
		return 0, ok && e.leftBy == kindMorestack
	}
	pc, ok := mem.Word(g + uint64(e.c.SchedPC))
	if !ok {
		return 0, false
	}
	pc -= regs.PC - e.pc
	switch {
	case e.leftBy == kindSystemStack && !e.t.inSwitch(pc):
		return 0, false
	case e.leftBy == kindMorestack && !e.t.callsMorestack(pc):
		return 0, true
	}
	v, ok := mem.Word(g + uint64(e.off))
	return v + e.add, ok
}

func (t *rules) inSwitch(pc uint64) bool {
	f, ok := t.funcs.find(pc)
	return ok && string(t.funcs.name(&f)) == "runtime.systemstack_switch"
}

func (t *rules) callsMorestack(ret uint64) bool {
	name := t.funcs.called(ret)
	return name == "runtime.morestack" || name == "runtime.morestack_noctxt" || name == "runtime.morestackc"
}

// called names the function that is called before a return address, or "" if it is unknown.
func (t *funcs) called(ret uint64) string {
	target, ok := t.callBefore(ret)
	if !ok {
		return ""
	}
	return t.functionAt(target)
}

func (t *funcs) callBefore(ret uint64) (target uint64, ok bool) {
	if t.img.Arch == frames.ARM64 {
		return t.callBeforeARM64(ret)
	}
	return t.callBeforeX86(ret)
}
