package frames

import "encoding/binary"

// quick is step for what almost all frames are: a rule from call frame information
// with nothing special about it, whose places all lie in the copied stack. It
// changes the registers in place, after it has made sure that nothing can go wrong,
// and reports false, with nothing changed, otherwise.
func (w *Walker) quick() bool {
	e := w.cur
	if !e.quick || w.snap == nil || w.regs.Known&(1<<(e.rule.CFAReg%NumRegs)) == 0 {
		return false
	}
	cfa := w.regs.Val[e.rule.CFAReg%NumRegs] + uint64(int64(e.rule.CFAOff))
	b := w.snap.Stack.Bytes
	top := cfa - w.snap.Stack.Addr
	if top > uint64(len(b)) || top < e.deep || cfa <= w.regs.Val[X86RSP] {
		return false
	}
	pc := binary.LittleEndian.Uint64(b[top-8:])
	if pc == 0 {
		return false
	}
	for i, units := range e.rule.Saved {
		if units != 0 {
			w.regs.Val[archs[X86_64].compact[i]%NumRegs] = binary.LittleEndian.Uint64(b[top-8*uint64(units):])
		}
	}
	w.regs.Known = w.regs.Known&archs[X86_64].kept | e.known
	w.regs.Val[X86RSP] = cfa
	w.regs.PC = pc
	w.enter(MethodCFI, true)
	return true
}
