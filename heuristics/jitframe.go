package heuristics

// opPushBP is push rbp (Intel SDM volume 2, PUSH).
const opPushBP = 0x55

// makesFrame counts an outcome where generated code makes its frame: push rbp; mov rbp, rsp. A function does that once,
// while the return address is on top. So it tells where that is in the code before it, of which often no path leads
// to a return, but to a compiler's builtins. It asks of the innermost frame only: code that has
// called has its frame already. Compilers other than those may save rbp among others before they load it.
func (w *forwardAnalysis) makesFrame() bool {
	a, st := w.src.abi, &w.st
	fp := st.regs[a.fp]
	if !w.src.o.JIT || !w.inner || a.ra != noReg || fp.kind != initial || fp.base != a.sp || fp != st.regs[a.sp] {
		return false
	}
	f := found{cfa: fp.plus(16)}
	for i := range f.kept {
		f.kept[i] = place{kind: lost}
	}
	switch {
	case st.load(fp).isStart(a.fp):
		f.kept[0] = place{} // not yet pushed
	case w.steps == 1 && w.pushed(st.pc):
		f.kept[0] = place{inMemory, a.sp, fp.off}
	default:
		return false
	}
	w.votes.add(&f, false)
	return true
}

// pushed reports whether the instruction before pc is push rbp.
func (w *interpreter) pushed(pc uint64) bool {
	b := w.code(pc - 1)
	return pc > 0 && len(b) > 0 && b[0] == opPushBP
}
