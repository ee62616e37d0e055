package heuristics

// opPushBP is push rbp (Intel SDM volume 2, PUSH).
const opPushBP = 0x55

// makesFrame counts an outcome where generated code makes its frame: push rbp; mov rbp, rsp. A function does that once,
// while the return address is on top, so that it tells where that is in the code before it, which often ends in jumps
// to a compiler's builtins only and shows no return. It asks of the innermost frame only: code that has
// called has its frame already. Compilers other than those may save rbp among others before they load it.
func (w *walk) makesFrame() bool {
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
func (w *walk) pushed(pc uint64) bool {
	b := w.code(pc - 1)
	return pc > 0 && len(b) > 0 && b[0] == opPushBP
}

// What calleeMakesFrame reads: of the code that calls, and of what it calls.
const (
	maxBeforeCall = 8
	maxCallee     = 24
)

// calleeMakesFrame recognises the start of code that calls for its frame to be made: V8's baseline code begins with a
// call of a builtin that pops its own return address, and makes its caller's frame. Up to that call nothing
// lies on the stack but the return address; the frame pointer is still that of the caller.
func (w *walk) calleeMakesFrame(pc uint64, f *found) bool {
	a, st := w.src.abi, &w.st
	if a.ra != noReg {
		return false // what is called has its return address in the link register
	}
	w.begin(pc, 0, ^uint64(0))
	for range maxBeforeCall {
		if !w.straight() || !st.regs[a.sp].isStart(a.sp) {
			return false
		}
		if w.fl.kind != flowCall {
			continue
		}
		if w.fl.target == 0 || !w.makesCallersFrame(st.pc+w.fl.target) {
			return false
		}
		*f = found{cfa: start(a.sp).plus(a.entry)}
		for i, reg := range a.kept {
			if reg != a.fp {
				f.kept[i] = place{kind: lost}
			}
		}
		return true
	}
	return false
}

// straight interprets the instruction at w.st and goes on behind it; false if the path ends there.
func (w *walk) straight() bool {
	code := w.code(w.st.pc)
	if len(code) == 0 {
		return false
	}
	w.src.abi.step(&w.st, code, &w.fl)
	w.st.pc += uint64(w.fl.size)
	return w.fl.kind == flowNext || w.fl.kind == flowCond || w.fl.kind == flowCall
}

// makesCallersFrame reports whether the code at pc, called from w.st, makes a frame with the return address of its
// caller.
func (w *walk) makesCallersFrame(pc uint64) bool {
	a, st := w.src.abi, &w.st
	st.push(a.sp, value{})
	st.pc = pc
	for range maxCallee {
		if !w.straight() || w.fl.kind == flowCall {
			return false
		}
		if fp := st.regs[a.fp]; fp.kind == initial && fp.base == a.sp {
			return fp == st.regs[a.sp] && a.isFrame(st, fp)
		}
	}
	return false
}
