// SPDX-License-Identifier: Apache-2.0

package frames

import "math/bits"

// callerStep computes the registers of a frame's caller.
type callerStep struct {
	space          *Space
	mem            Memory
	regs           Regs           // the frame's
	next           Regs           // its caller's, while they are computed
	knownInnermost uint64         // registers known in the innermost frame
	unreadAddr     Addr           // last word that could not be read
	exprMem        unreadRecorder // for a CFA's expression
	mod            int32          // index of the frame's module, or -1
	caller         bool
}

func (c *callerStep) module() *Module { return c.space.module(c.mod) }

func (c *callerStep) apply(r *Rule) StopReason {
	if r.Flags&FlagRow != 0 {
		return c.applyRow(&c.space.rows[r.row()], r.Flags)
	}
	info := c.regs.Arch.info()
	cfa := c.regs.Val[r.CFAReg%NumRegs] + uint64(int64(r.CFAOff))
	c.next = c.regs
	c.next.Known &= info.calleeSaved
	if stop := c.restoreCompact(r, info, cfa); stop != StopNone {
		return stop
	}
	if stop := c.restoreReturnAddress(r, info, cfa); stop != StopNone {
		return stop
	}
	c.next.Set(info.sp, cfa)
	return StopNone
}

func (c *callerStep) restoreCompact(r *Rule, info *archInfo, cfa Addr) StopReason {
	for i, units := range r.Saved {
		if units == 0 {
			if r.losesReg(i) {
				c.next.Known &^= 1 << info.compact[i]
			}
			continue
		}
		at := cfa - 8*uint64(units)
		v, ok := c.mem.Word(at)
		switch {
		case ok:
			c.next.Set(info.compact[i], v)
		case c.isBelowSP(at):
			c.restorePopped(info.compact[i], at)
		default:
			return c.stopAtUnread(at)
		}
	}
	return StopNone
}

func (c *callerStep) restoreReturnAddress(r *Rule, info *archInfo, cfa Addr) StopReason {
	if info.raOnStack {
		v, ok := c.mem.Word(cfa - 8)
		if !ok && c.isBelowSP(cfa-8) {
			var reg uint8
			if reg, ok = c.poppedRegister(cfa - 8); ok {
				v, ok = c.regs.Get(reg)
			}
		}
		if !ok {
			return c.stopAtUnread(cfa - 8)
		}
		c.next.PC = v
		return StopNone
	}
	from := &c.next
	if r.Flags&FlagRAInLR != 0 {
		from = &c.regs
	}
	v, ok := from.Get(info.ra)
	if !ok {
		return StopUnproven
	}
	c.next.Known &^= 1 << info.ra
	c.next.PC = v &^ c.regs.PACMask
	return StopNone
}

func (c *callerStep) applyRow(row *storedRow, flags Flags) StopReason {
	info := c.regs.Arch.info()
	cfa, stop := c.rowCFA(row.Row)
	if stop != StopNone {
		return stop
	}
	c.next = c.regs
	if flags&FlagSignal == 0 {
		c.next.Known &= info.calleeSaved
	}
	c.next.Set(info.sp, cfa)
	for left := row.changes; left != 0; left &= left - 1 {
		reg := uint8(bits.TrailingZeros32(left)) % NumRegs
		p := &row.Regs[reg]
		v, ok, stop := c.callerReg(p, cfa)
		if stop == StopBadMemory && c.isBelowSP(c.unreadAddr) {
			c.restorePopped(reg, c.unreadAddr)
			continue
		}
		if stop != StopNone {
			return stop
		}
		if ok {
			c.next.Set(reg, v)
		} else {
			c.next.Known &^= 1 << reg
		}
	}
	if !c.knowsNextSP() {
		c.next.Val[info.sp] = c.regs.SP() // a lower bound
	}
	return c.restoreRowRA(row.Row, info, cfa, flags)
}

func (c *callerStep) rowCFA(row *Row) (Addr, StopReason) {
	if row.CFAExpr != nil {
		if p, ok := row.CFAExpr.(CFAFinder); ok {
			return c.finderCFA(p)
		}
		c.exprMem = unreadRecorder{Memory: c.mem}
		v, ok := row.CFAExpr.Eval(&c.regs, &c.exprMem, 0)
		if !ok {
			return 0, c.exprStopReason()
		}
		return v, StopNone
	}
	base, ok := c.regs.Get(row.CFAReg)
	if !ok {
		return 0, StopUnproven
	}
	cfa := base + uint64(row.CFAOff)
	if !row.CFADeref {
		return cfa, StopNone
	}
	v, ok := c.mem.Word(cfa)
	if !ok {
		return 0, c.stopAtUnread(cfa)
	}
	return v, StopNone
}

func (c *callerStep) exprStopReason() StopReason {
	if c.regs.Known != ^uint64(0) && c.regs.Known&c.regs.Arch.CalleeSaved() != c.regs.Arch.CalleeSaved() {
		return StopUnproven
	}
	if c.exprMem.unread == 0 { // the expression itself is refused
		c.unreadAddr = 0
		return StopBadMemory
	}
	return c.stopAtUnread(c.exprMem.unread)
}

func (c *callerStep) restoreRowRA(row *Row, info *archInfo, cfa Addr, flags Flags) StopReason {
	p := row.RA
	if p.Kind == RuleSame {
		p = RegRule{Kind: RuleReg, Reg: info.ra}
	}
	v, ok, stop := c.callerReg(&p, cfa)
	if stop != StopNone {
		return stop
	}
	if !ok {
		if v, ok = c.raFromScratch(&p); !ok {
			return StopUnproven
		}
	}
	if !info.raOnStack && flags&FlagSignal == 0 {
		c.next.Known &^= 1 << info.ra
	}
	c.next.PC = v &^ c.regs.PACMask
	return StopNone
}

// raFromScratch returns a return address kept in a register that callees may change: the innermost frame's value, if it
// follows a call of this function. Go's functions on arm64 call morestack so.
func (c *callerStep) raFromScratch(p *RegRule) (uint64, bool) {
	if p.Kind != RuleReg || !c.caller || c.knownInnermost>>(p.Reg%NumRegs)&1 == 0 {
		return 0, false
	}
	v := c.regs.Val[p.Reg%NumRegs] &^ c.regs.PACMask
	start, known := c.space.funcStart(c.regs.PC - c.regs.Arch.CallLen())
	return v, known && c.space.isReturnAddressOf(v, start, known)
}

// callerReg returns a register's value; not ok if it cannot be recovered, which does not end the walk.
func (c *callerStep) callerReg(p *RegRule, cfa Addr) (uint64, bool, StopReason) {
	var at Addr
	switch p.Kind {
	case RuleOffset:
		at = cfa + uint64(p.Off)
	case RuleValOffset:
		return cfa + uint64(p.Off), true, StopNone
	case RuleReg:
		v, ok := c.regs.Get(p.Reg)
		return v, ok, StopNone
	case RuleRegOffset:
		base, ok := c.regs.Get(p.Reg)
		if !ok {
			return 0, false, StopNone
		}
		at = base + uint64(p.Off)
	case RuleExpr, RuleValExpr:
		v, ok := p.Expr.Eval(&c.regs, c.mem, cfa)
		if !ok || p.Kind == RuleValExpr {
			return v, ok, StopNone
		}
		at = v
	default:
		return 0, false, StopNone
	}
	v, ok := c.mem.Word(at)
	if !ok {
		return 0, false, c.stopAtUnread(at)
	}
	return v, true, StopNone
}

func (c *callerStep) canApply(r *Rule) bool {
	if r.Flags&FlagRow != 0 && c.space.rows[r.row()].CFAExpr != nil {
		return true
	}
	return c.regs.Known&(1<<(r.CFAReg%NumRegs)) != 0
}

// assumePreserved applies a rule relative to a register that callees may change, with its value in the innermost frame:
// OpenSSL's assembly keeps its stack pointer in rax or r11, and calls helpers that do not change these. The caller's
// frame must be further out, and its return address follow a call of this function.
func (c *callerStep) assumePreserved(r *Rule) bool {
	given := c.knownInnermost>>(r.CFAReg%NumRegs)&1 != 0
	special := r.Flags&(FlagRow|FlagSignal|FlagStackSwitch|FlagLosesRegs) != 0
	if !c.caller || r.CFAReg == c.regs.Arch.SP() || !given || special {
		return false
	}
	if c.apply(r) != StopNone || c.next.SP() <= c.regs.SP() { // apply reads the value, known or not
		return false
	}
	start, known := c.space.funcStart(c.regs.PC - c.regs.Arch.CallLen())
	return c.space.isReturnAddressOf(c.next.PC, start, known)
}

func (c *callerStep) stopAtUnread(addr Addr) StopReason {
	c.unreadAddr = addr
	if c.mem.Cut(addr) {
		return StopStackCut
	}
	return StopBadMemory
}
