package frames

import "encoding/binary"

// commitFP is commit after the frame pointer was believed. If that was for a reason which is
// in the code alone, as almost always, the next time that it leads from here to there it
// need not be found again.
func (w *Walker) commitFP(start Addr, known bool) StopReason {
	e, k := w.cur, w.key
	firm := w.calls(w.next.PC, start, known) || w.generated(w.next.PC)
	stop := w.commit(&Rule{Method: MethodFP})
	if stop != StopNone || !firm || e.key != k || e.mod < 0 || !w.regs.Arch.info().raOnStack {
		return stop
	}
	if i := w.space.slot(w.cur.key); i < numSlots {
		e.next, e.byFP = uint16(i), true
	}
	return stop
}

// sameFP steps from a frame without a rule by its frame pointer, if that leads to where it led the last
// time. What tryFramePointer asks of the stack is asked here; what it asks of the code was answered then. False
// leaves all as it was. A JVM's stacks have such a frame each.
func (w *Walker) sameFP() bool {
	regs := &w.regs
	fp := regs.Val[X86RBP]
	from := fp + 8*windowUnits - w.low // of the word that fp points to
	if regs.Known&(1<<X86RBP) == 0 || fp < regs.Val[X86RSP] || fp%8 != 0 || from >= uint64(len(w.stack)) || fp+16 < fp {
		return false
	}
	b := w.stack[from:]
	if len(b) < 16 {
		return false
	}
	outer, pc := binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])
	ne := &w.space.cache[w.cur.next%numSlots]
	if outer != 0 && outer <= fp || ne.key != cacheKey(pc, true, false) || pc == 0 {
		return false
	}
	regs.Val[X86RBP], regs.Val[X86RSP] = outer, fp+16
	regs.Known = 1<<X86RBP | 1<<X86RSP
	regs.PC = pc
	w.enterAt(ne, MethodFP, true)
	return true
}
