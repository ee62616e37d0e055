// SPDX-License-Identifier: Apache-2.0

package frames

import "encoding/binary"

// Next moves to the next frame, at first to the innermost. It returns false at the end, with the reason in
// [Walker.StopReason].
//
// Almost all frames are plain: registers near the CFA, in the copied stack, and a caller in the cache. nextSlow does
// the others, with the same result.
//
//	higher      ┌────────────────┐ ◄── CFA
//	            │ return address │ units[ra] = 15
//	            │ caller's rbp   │ 14
//	            │ …              │
//	CFA − 128   └────────────────┘ 0: the window, whose bounds are checked once
func (w *Walker) Next() bool {
	w.depth++
	e := w.cur
	q := &e.quick
	val := &w.regs.Val
	base := e.rule.CFAReg % NumRegs
	if e.key != w.key || !q.plain || w.depth > w.limit || w.regs.Known&(1<<base) == 0 {
		return w.nextSlow()
	}
	cfa := val[base] + uint64(int64(e.rule.CFAOff))
	from := cfa - w.lowestCFA
	to := from + windowBytes
	if from > to || to > uint64(len(w.stack)) || cfa-val[X86RSP]-1 >= largeStep {
		return w.nextSlow()
	}
	p := (*[windowBytes]byte)(w.stack[from:to:to])
	pc := binary.LittleEndian.Uint64(p[windowBytes-8:])
	caller := w.space.cache.get(cacheKey(pc, true, false))
	if caller == nil || caller.confidence < e.requiredConfidence {
		return w.nextSlow()
	}
	for _, l := range q.loads {
		l.restore(val, p)
	}
	val[X86RSP] = cfa
	w.regs.Known = w.regs.Known&uint64(q.stillKnown) | uint64(q.becomesKnown)
	w.regs.PC = pc
	w.enterAt(caller, e.rule.Method, true)
	return true
}

const (
	windowUnits = 16 // words below the CFA
	windowBytes = 8 * windowUnits
)

// quickRule is a plain rule, prepared for [Walker.Next].
type quickRule struct {
	plain bool
	// loads restore registers. Unused ones load into the RA column, which is ignored: a branch on their number would be
	// predicted badly.
	loads        [6]load
	stillKnown   uint16 // stay known
	becomesKnown uint16 // become known: those restored, and the stack pointer
}

// load is the place of a register's value in the window, in words.
type load struct{ reg, at uint8 }

func (l load) restore(val *[NumRegs]uint64, p *[windowBytes]byte) {
	i := uint(l.at) % windowUnits * 8
	val[l.reg%NumRegs] = binary.LittleEndian.Uint64(p[i : i+8])
}

// quickRuleOf prepares a plain rule: x86-64, no flags but FlagLosesRegs, all places within the window.
func quickRuleOf(arch Arch, r *Rule) (q quickRule) {
	info := arch.info()
	if !info.raOnStack || r.Flags&^FlagLosesRegs != 0 {
		return quickRule{}
	}
	q.plain = true
	q.becomesKnown, q.stillKnown = 1<<info.sp, uint16(info.calleeSaved)
	for i := range q.loads {
		reg, units := info.compact[i], r.Saved[i]
		q.loads[i] = load{info.ra, windowUnits - 1}
		switch {
		case units > windowUnits:
			return quickRule{}
		case units != 0:
			q.loads[i] = load{reg, windowUnits - units}
			q.becomesKnown |= 1 << reg
		case r.losesReg(i):
			q.stillKnown &^= 1 << reg
		}
	}
	return q
}
