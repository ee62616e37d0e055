package frames

import "encoding/binary"

// quick is step for what almost all frames are: a rule with nothing special about
// it, whose places all lie in the copied stack. It changes the registers in place,
// after it has made sure that nothing can go wrong, and reports false, with nothing
// changed, otherwise.
//
// How many registers a rule restores varies from frame to frame, so that branches
// on it are predicted badly. Therefore all six are computed, and those that the rule
// leaves alone keep their values: their load, from the CFA itself, is thrown away.
func (w *Walker) quick(e *entry) bool {
	r := &e.rule
	val := &w.regs.Val
	base := r.CFAReg % NumRegs
	if e.deep == 0 || w.regs.Known&(1<<base) == 0 || w.snap == nil {
		return false
	}
	cfa := val[base] + uint64(int64(r.CFAOff))
	b := w.snap.Stack.Bytes
	top := cfa - w.snap.Stack.Addr
	if top >= uint64(len(b)) || uint64(len(b))-top < 8 || top < 8*uint64(e.deep) || cfa <= val[X86RSP] {
		return false
	}
	pc := binary.LittleEndian.Uint64(b[top-8:])
	if pc == 0 || r.Method != MethodCFI && !w.space.follows(pc) {
		return false
	}
	val[X86RBP] = kept(b, top, r.Saved[0], val[X86RBP])
	val[X86RBX] = kept(b, top, r.Saved[1], val[X86RBX])
	val[X86R12] = kept(b, top, r.Saved[2], val[X86R12])
	val[X86R13] = kept(b, top, r.Saved[3], val[X86R13])
	val[X86R14] = kept(b, top, r.Saved[4], val[X86R14])
	val[X86R15] = kept(b, top, r.Saved[5], val[X86R15])
	val[X86RSP] = cfa
	w.regs.Known = w.regs.Known&x86Kept | uint64(e.known)
	w.regs.PC = pc
	m := r.Method
	k := cacheKey(pc, true, false)
	if set := &w.space.cache[hash(k, cacheBits)]; set[0].key == k {
		w.enterAt(&set[0], m, true)
		return true
	}
	w.enter(m, true)
	return true
}

// kept gives a register's value in the caller: the word that many units below the
// CFA, or the old value for 0.
func kept(b []byte, top uint64, units uint8, old uint64) uint64 {
	v := binary.LittleEndian.Uint64(b[top-8*uint64(units):])
	if units == 0 {
		v = old
	}
	return v
}

// x86Kept is what a callee must preserve on x86-64, the only architecture whose
// calls push the return address.
const x86Kept = 1<<X86RBP | 1<<X86RBX | 1<<X86R12 | 1<<X86R13 | 1<<X86R14 | 1<<X86R15
