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
//
// The caller's rule is first looked for where it was found after this frame the last
// time. If it was the return address that told where to look, all frames of a stack
// would have to wait for each other's loads.
func (w *Walker) Next() bool {
	w.depth++
	e := w.cur
	r := &e.rule
	val := &w.regs.Val
	base := r.CFAReg % NumRegs
	if e.key != w.key || w.depth > w.limit || w.regs.Known&(1<<base) == 0 {
		return w.slow()
	}
	cfa := val[base] + uint64(int64(r.CFAOff))
	b := w.stack
	from := cfa - w.low
	if n := uint64(len(b)); n < windowBytes || from > n-windowBytes || cfa <= val[X86RSP] {
		return w.slow()
	}
	p := (*[windowBytes]byte)(b[from:])
	pc := binary.LittleEndian.Uint64(p[windowBytes-16:])
	k := cacheKey(pc, true, false)
	ne := &w.space.cache[e.next%numSlots]
	if ne.key != k || e.needs&ne.has == 0 {
		if ne = w.elsewhere(pc); ne == nil {
			return w.slow()
		}
	}
	val[X86RBP] = kept(p, e.at[0], val[X86RBP])
	val[X86RBX] = kept(p, e.at[1], val[X86RBX])
	val[X86R12] = kept(p, e.at[2], val[X86R12])
	val[X86R13] = kept(p, e.at[3], val[X86R13])
	val[X86R14] = kept(p, e.at[4], val[X86R14])
	val[X86R15] = kept(p, e.at[5], val[X86R15])
	val[X86RSP] = cfa
	w.regs.Known = w.regs.Known&uint64(e.keeps) | uint64(e.known)
	w.regs.PC = pc
	w.enterAt(ne, r.Method, true)
	return true
}

// elsewhere is for a frame that was not led to from w.cur the last time: it finds the entry
// of that caller, and w.cur shows to it from now on. It is nil where the full step has to
// decide.
func (w *Walker) elsewhere(pc Addr) *entry {
	e, s := w.cur, w.space
	if pc == 0 || e.needs == 0 {
		return nil
	}
	k := cacheKey(pc, true, false)
	i := s.slot(k)
	if i == numSlots {
		if e.needs != trustCFI {
			return nil
		}
		s.lookup(pc, true, false)
		if e.key != w.key { // the new entry has pushed this one out of its slot
			return nil
		}
		i = s.slot(k)
	}
	ne := &s.cache[i]
	if e.needs&ne.has == 0 {
		return nil
	}
	e.next = uint16(i)
	return ne
}

// The window: so many units of 8 bytes below the CFA, and the one at the CFA.
const (
	windowUnits = 15
	windowBytes = 8 * (windowUnits + 1)
)

// kept gives a register's value in the caller: the word at that place of the window, or
// the old value where the place is that of the CFA.
func kept(p *[windowBytes]byte, at uint8, old uint64) uint64 {
	i := uint(at) % (windowUnits + 1) * 8
	if v := binary.LittleEndian.Uint64(p[i : i+8]); at != windowUnits {
		old = v
	}
	return old
}
