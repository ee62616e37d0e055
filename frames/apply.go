// SPDX-License-Identifier: Apache-2.0

package frames

import (
	"encoding/binary"
	"math/bits"
)

type callerStep struct {
	// regs to interrupted describe the current frame.
	regs        Regs
	resolved    *resolvedRule // at regs.PC
	method      Method        // by which the frame was found
	interrupted bool          // regs.PC is no return address: the thread, or a signal, was there

	space          *Space
	arch           *archInfo
	mem            Memory
	next           callerRegs   // while they are computed
	knownInnermost uint64       // registers known in the innermost frame
	unreadAddr     Addr         // last word that could not be read
	spWord         Addr         // the word in memory that gave next's stack pointer, or 0
	exprMem        wordRecorder // of the last expression
}

func (c *callerStep) isAfterCall() bool { return !c.interrupted && !c.resolved.pcIsCurrent }

func (c *callerStep) currentFunction() Addr {
	return c.space.functionAt(c.regs.Arch.lookupPC(c.regs.PC, c.isAfterCall()))
}

// apply computes next by r. It returns StopNoRule if a CFAFinder finds no frame.
func (c *callerStep) apply(r *resolvedRule) StopReason {
	c.spWord = 0
	if r.row != nil {
		return c.applyRow(r.row, r.rule.Flags)
	}
	cfa := c.regs.Val[r.rule.CFAReg%NumRegs] + uint64(int64(r.rule.CFAOff))
	c.next.begin(c.regs.Known & c.arch.calleeSaved)
	if stop := c.restoreCompact(&r.rule, cfa); stop != StopNone {
		return stop
	}
	if stop := c.restoreReturnAddress(&r.rule, cfa); stop != StopNone {
		return stop
	}
	c.next.Set(c.arch.sp, cfa)
	return StopNone
}

func (c *callerStep) restoreCompact(r *Rule, cfa Addr) StopReason {
	for saved := binary.LittleEndian.Uint64(r.Saved[:]); saved != 0; {
		i := uint(bits.TrailingZeros64(saved)) / 8 % NumCompact
		saved &^= 0xff << (8 * i)
		reg, at := c.arch.compact[i], cfa-8*uint64(r.Saved[i])
		v, ok := c.mem.Word(at)
		switch {
		case ok:
			c.next.Set(reg, v)
		case c.mayBePopped(at):
			c.restorePopped(reg, at)
		default:
			return c.stopAtUnread(at)
		}
	}
	return StopNone
}

func (c *callerStep) restoreReturnAddress(r *Rule, cfa Addr) StopReason {
	if c.arch.raOnStack {
		return c.loadReturnAddress(cfa - 8)
	}
	v, known := c.next.Val[c.arch.ra], c.next.Known
	if r.Flags&FlagRAInLR != 0 {
		v, known = c.regs.Val[c.arch.ra], c.regs.Known
	}
	if known&(1<<c.arch.ra) == 0 {
		return StopUnproven
	}
	c.next.Known &^= 1 << c.arch.ra
	c.next.PC = v &^ c.regs.PACMask
	return StopNone
}

func (c *callerStep) loadReturnAddress(at Addr) StopReason {
	v, ok := c.mem.Word(at)
	if !ok && c.mayBePopped(at) {
		if reg, popped := c.poppedRegister(at); popped {
			v, ok = c.regs.Get(reg)
		}
	}
	if !ok {
		return c.stopAtUnread(at)
	}
	c.next.PC = v
	return StopNone
}

func (c *callerStep) applyRow(row *Row, flags Flags) StopReason {
	cfa, stop := c.rowCFA(row)
	if stop != StopNone {
		return stop
	}
	c.next.begin(c.regs.Known)
	if flags&FlagExactPC == 0 {
		c.next.Known &= c.arch.calleeSaved
	}
	c.next.Set(c.arch.sp, cfa)
	for reg := range uint8(NumRegs) {
		p := &row.Regs[reg]
		if p.Kind == RuleSame {
			continue
		}
		v, known, stop := c.callerReg(p, cfa)
		switch {
		case stop == StopBadMemory && c.mayBePopped(c.unreadAddr):
			c.restorePopped(reg, c.unreadAddr)
		case stop != StopNone:
			return stop
		case known:
			c.next.Set(reg, v)
			if reg == c.arch.sp {
				c.spWord = c.placeOf(p, cfa)
			}
		default:
			c.next.Known &^= 1 << reg
		}
	}
	if !c.knowsNextSP() {
		c.next.Val[c.arch.sp] = c.regs.SP() // a lower bound
	}
	return c.restoreRowRA(row, cfa, flags)
}

func (c *callerStep) rowCFA(row *Row) (Addr, StopReason) {
	if row.CFAExpr != nil {
		return c.exprCFA(row.CFAExpr)
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
	c.spWord = cfa
	return v, StopNone
}

func (c *callerStep) exprCFA(e Expr) (Addr, StopReason) {
	if finder, ok := e.(CFAFinder); ok {
		return c.finderCFA(finder)
	}
	v, ok, stop := c.eval(e, 0)
	switch {
	case ok:
		c.spWord = c.exprMem.last
		return v, StopNone
	case stop != StopNone:
		return v, stop
	case c.regs.Known&c.arch.calleeSaved != c.arch.calleeSaved:
		return 0, StopUnproven
	}
	c.unreadAddr = c.exprMem.unread // 0 means that the expression itself is refused
	return 0, StopBadMemory
}

// eval returns StopStackCut if the expression has no value because the copy of the stack is too short.
func (c *callerStep) eval(e Expr, initial uint64) (v uint64, ok bool, stop StopReason) {
	c.exprMem = wordRecorder{Memory: c.mem}
	v, ok = e.Eval(&c.regs, &c.exprMem, initial)
	if at := c.exprMem.unread; !ok && at != 0 && c.mem.Cut(at) {
		return 0, false, c.stopAtUnread(at)
	}
	return v, ok, StopNone
}

func (c *callerStep) restoreRowRA(row *Row, cfa Addr, flags Flags) StopReason {
	p := row.RA
	if p.Kind == RuleSame {
		p = RegRule{Kind: RuleReg, Reg: c.arch.ra}
	}
	v, known, stop := c.callerReg(&p, cfa)
	if stop != StopNone {
		return stop
	}
	if !known {
		if v, known = c.raFromScratch(&p); !known {
			return StopUnproven
		}
	}
	if !c.arch.raOnStack && flags&FlagExactPC == 0 {
		c.next.Known &^= 1 << c.arch.ra
	}
	c.next.PC = v &^ c.regs.PACMask
	return StopNone
}

// raFromScratch returns the innermost frame's value of a return address's register, if it follows a call that can have
// led to this function. Go's functions on arm64 call morestack with their return address in a register that callees may
// change.
func (c *callerStep) raFromScratch(p *RegRule) (ra uint64, ok bool) {
	if p.Kind != RuleReg || c.interrupted || !c.knewInnermost(p.Reg) {
		return 0, false
	}
	ra = c.regs.Val[p.Reg%NumRegs] &^ c.regs.PACMask
	callee := c.currentFunction()
	return ra, callee != noFunction && c.space.isReturnAddressOf(ra, callee)
}

// knewInnermost reports whether the register was known in the innermost frame. regs.Val keeps that value, also while
// the register is unknown, until a rule restores the register.
func (c *callerStep) knewInnermost(reg uint8) bool { return c.knownInnermost>>(reg%NumRegs)&1 != 0 }

func (c *callerStep) callerReg(p *RegRule, cfa Addr) (v uint64, known bool, stop StopReason) {
	var at Addr
	switch p.Kind {
	case RuleOffset:
		at = cfa + uint64(p.Off)
	case RuleValOffset:
		return cfa + uint64(p.Off), true, StopNone
	case RuleReg:
		v, known = c.regs.Get(p.Reg)
		return v, known, StopNone
	case RuleRegOffset:
		base, ok := c.regs.Get(p.Reg)
		if !ok {
			return 0, false, StopNone
		}
		at = base + uint64(p.Off)
	case RuleExpr, RuleValExpr:
		v, ok, stop := c.eval(p.Expr, cfa)
		if !ok || p.Kind == RuleValExpr {
			return v, ok, stop
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

// placeOf returns the place of a register's saved value, or 0 if its rule has none.
func (c *callerStep) placeOf(p *RegRule, cfa Addr) Addr {
	switch p.Kind {
	case RuleOffset:
		return cfa + uint64(p.Off)
	case RuleRegOffset:
		return c.regs.Val[p.Reg%NumRegs] + uint64(p.Off)
	}
	return 0
}

// knowsCFABase reports whether the base register of r's CFA is known. An expression reports what it lacks when it is
// evaluated.
func (c *callerStep) knowsCFABase(r *resolvedRule) bool {
	if r.row != nil && r.row.CFAExpr != nil {
		return true
	}
	return c.regs.Known&(1<<(r.rule.CFAReg%NumRegs)) != 0
}

// applyWithAssumedReg applies a rule with the innermost frame's value of its register: assembly of OpenSSL keeps its
// stack pointer in rax or r11, and calls helpers that do not change these. The caller must be further out, and its
// return address follow a call that can have led to this function.
func (c *callerStep) applyWithAssumedReg(r *resolvedRule) bool {
	plain := r.row == nil && r.rule.Flags&(FlagExactPC|FlagStackSwitch) == 0
	if !plain || c.interrupted || r.rule.CFAReg == c.arch.sp || !c.knewInnermost(r.rule.CFAReg) {
		return false
	}
	if c.apply(r) != StopNone || c.nextSP() <= c.regs.SP() { // apply reads the value, known or not
		return false
	}
	return c.space.isReturnAddressOf(c.next.PC, c.currentFunction())
}

func (c *callerStep) stopAtUnread(at Addr) StopReason {
	c.unreadAddr = at
	if c.mem.Cut(at) {
		return StopStackCut
	}
	return StopBadMemory
}
