package frames

import "encoding/binary"

// Next goes on to the next frame; the first call gives the innermost. It returns
// false when the walk has ended, and StopReason then says why.
//
// Almost all frames are plain: a rule with nothing special about it, whose places all
// lie in the copied stack. Next does these itself: it changes the registers in place,
// after it has made sure that nothing can go wrong, and leaves all else to slow, with
// nothing changed.
//
// How many registers a rule restores varies from frame to frame, so that branches
// on it are predicted badly. Therefore all six are computed, and those that the rule
// leaves alone keep their values: their load, from the CFA itself, is thrown away.
// All loads are from one window around the CFA, whose bounds are checked once.
func (w *Walker) Next() bool {
	w.depth++
	e := w.cur
	r := &e.rule
	val := &w.regs.Val
	base := r.CFAReg % NumRegs
	if e.key != w.key || w.depth > w.limit || e.deep-1 >= windowUnits || w.regs.Known&(1<<base) == 0 || w.snap == nil {
		return w.slow()
	}
	cfa := val[base] + uint64(int64(r.CFAOff))
	b := w.snap.Stack.Bytes
	from := cfa - w.snap.Stack.Addr - 8*windowUnits
	if n := uint64(len(b)); n < windowBytes || from > n-windowBytes || cfa <= val[X86RSP] {
		return w.slow()
	}
	p := (*[windowBytes]byte)(b[from:])
	pc := binary.LittleEndian.Uint64(p[windowBytes-16:])
	if pc == 0 || r.Method != MethodCFI && !w.space.follows(pc) {
		return w.slow()
	}
	val[X86RBP] = kept(p, r.Saved[0], val[X86RBP])
	val[X86RBX] = kept(p, r.Saved[1], val[X86RBX])
	val[X86R12] = kept(p, r.Saved[2], val[X86R12])
	val[X86R13] = kept(p, r.Saved[3], val[X86R13])
	val[X86R14] = kept(p, r.Saved[4], val[X86R14])
	val[X86R15] = kept(p, r.Saved[5], val[X86R15])
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

// The window: so many units of 8 bytes below the CFA, and the one at the CFA.
const (
	windowUnits = 15
	windowBytes = 8 * (windowUnits + 1)
)

// kept gives a register's value in the caller: the word that many units below the
// CFA, or the old value for 0.
func kept(p *[windowBytes]byte, units uint8, old uint64) uint64 {
	at := uint(windowUnits-units) % (windowUnits + 1) * 8
	if v := binary.LittleEndian.Uint64(p[at : at+8]); units != 0 {
		old = v
	}
	return old
}

// x86Kept is what a callee must preserve on x86-64, the only architecture whose
// calls push the return address.
const x86Kept = 1<<X86RBP | 1<<X86RBX | 1<<X86R12 | 1<<X86R13 | 1<<X86R14 | 1<<X86R15
