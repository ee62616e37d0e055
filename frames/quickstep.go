// SPDX-License-Identifier: Apache-2.0

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
// How many registers a rule restores varies from frame to frame, so that branches on it are predicted badly.
// Therefore three words are loaded in any case, or six where the rule has more than three. What is loaded too much
// goes to the column of the return address, and is that. All loads are from one window around the CFA, whose bounds
// are checked once.
//
// The caller's rule is first looked for where it was found after this frame the last
// time. If it was the return address that told where to look, all frames of a stack
// would have to wait for each other's loads. Redis, ns a frame: 9.4 without, 7.4 with
// this, 6.6 with loads by threes (least of 30 rounds on a busy machine); 161 instructions
// a frame before, 96 or 114 now.
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
	to := from + windowBytes
	if from > to || to > uint64(len(b)) || cfa-val[X86RSP]-1 >= largeStep {
		return w.slow()
	}
	p := (*[windowBytes]byte)(b[from:to:to])
	pc := binary.LittleEndian.Uint64(p[windowBytes-16:])
	ne := &w.space.cache[e.next%numSlots]
	if ne.key != cacheKey(pc, true, false) || e.needs&ne.has == 0 {
		return w.elsewhere(pc)
	}
	e.load[0].restore(val, p)
	e.load[1].restore(val, p)
	e.load[2].restore(val, p)
	if e.many {
		e.load[3].restore(val, p)
		e.load[4].restore(val, p)
		e.load[5].restore(val, p)
	}
	val[X86RSP] = cfa
	w.regs.Known = w.regs.Known&uint64(e.keeps) | uint64(e.known)
	w.regs.PC = pc
	w.enterAt(ne, r.Method, true)
	return true
}

// elsewhere is Next for a frame that was not led to from w.cur the last time: it finds that
// caller's entry, and begins anew with w.cur showing to it.
func (w *Walker) elsewhere(pc Addr) bool {
	e, s := w.cur, w.space
	if pc == 0 || e.needs == 0 {
		return w.slow()
	}
	k := cacheKey(pc, true, false)
	i := s.slot(k)
	if i == numSlots && e.needs == trustCFI {
		i = s.miss(k, pc, true, false)
	}
	// A new entry may have pushed this one out of its slot.
	if i == numSlots || e.key != w.key || e.needs&s.cache[i].has == 0 {
		return w.slow()
	}
	e.next = uint16(i)
	w.depth--
	return w.Next()
}

// The window: so many units of 8 bytes below the CFA, and the one at the CFA.
const (
	windowUnits = 15
	windowBytes = 8 * (windowUnits + 1)
)

// load tells where in the window a register's value is, in words.
type load struct{ to, at uint8 }

func (l load) restore(val *[NumRegs]uint64, p *[windowBytes]byte) {
	i := uint(l.at) % (windowUnits + 1) * 8
	val[l.to%NumRegs] = binary.LittleEndian.Uint64(p[i : i+8])
}

// prepare finds out whether the quick step can apply the rule, and what it then needs.
func (s *Space) prepare(e *entry) {
	info := s.Arch.info()
	e.exact = e.exact || e.rule.Flags&FlagSignal != 0
	// A return address of 0 ends the stack, and so does one where no code is. A function's first instruction may do so.
	if e.key>>3 != 0 && e.mod >= 0 && (!e.exact || e.rule.Flags&FlagRoot == 0) {
		e.has = trustCFI
	}
	if !info.raOnStack || e.rule.Flags&^FlagLoss != 0 {
		return
	}
	e.known, e.keeps = 1<<info.sp, uint16(info.kept)
	n := 0
	for i, units := range e.rule.Saved[:len(e.load)] {
		reg := info.compact[i]
		switch {
		case units > windowUnits:
			return
		case units != 0:
			e.load[n] = load{reg, windowUnits - units}
			e.known |= 1 << reg
			n++
		case e.rule.loses(i):
			e.keeps &^= 1 << reg
		}
	}
	e.many = n > len(e.load)/2
	for ; n < len(e.load); n++ {
		e.load[n] = load{info.ra, windowUnits - 1}
	}
	e.needs = trustCFI
	if e.rule.Method != MethodCFI {
		e.needs = trustCalled
		if m := s.module(e.mod); m != nil && m.Generated {
			e.needs |= trustGenerated
		}
	}
}

// vouch notes in a caller's entry why its address can be believed without call frame information.
func (s *Space) vouch(e *entry, pc Addr) {
	if e.exact || s.follows(pc) {
		e.has |= trustCalled
	}
	if m := s.Find(pc); m != nil && m.Generated {
		e.has |= trustGenerated
	}
}
