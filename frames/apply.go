// SPDX-License-Identifier: Apache-2.0

package frames

import "math/bits"

// unwinder computes the registers of a frame's caller.
type unwinder struct {
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

func (u *unwinder) module() *Module { return u.space.module(u.mod) }

func (u *unwinder) apply(r *Rule) StopReason {
	if r.Flags&FlagRow != 0 {
		return u.applyRow(&u.space.rows[r.row()], r.Flags)
	}
	info := u.regs.Arch.info()
	cfa := u.regs.Val[r.CFAReg%NumRegs] + uint64(int64(r.CFAOff))
	u.next = u.regs
	u.next.Known &= info.calleeSaved
	if stop := u.restoreCompact(r, info, cfa); stop != StopNone {
		return stop
	}
	if stop := u.returnAddress(r, info, cfa); stop != StopNone {
		return stop
	}
	u.next.Set(info.sp, cfa)
	return StopNone
}

func (u *unwinder) restoreCompact(r *Rule, info *archInfo, cfa Addr) StopReason {
	for i, units := range r.Saved {
		if units == 0 {
			if r.losesReg(i) {
				u.next.Known &^= 1 << info.compact[i]
			}
			continue
		}
		at := cfa - 8*uint64(units)
		v, ok := u.mem.Word(at)
		switch {
		case ok:
			u.next.Set(info.compact[i], v)
		case u.belowSP(at):
			u.restorePopped(info.compact[i], at)
		default:
			return u.unreadable(at)
		}
	}
	return StopNone
}

func (u *unwinder) returnAddress(r *Rule, info *archInfo, cfa Addr) StopReason {
	if info.raOnStack {
		v, ok := u.mem.Word(cfa - 8)
		if !ok && u.belowSP(cfa-8) {
			var reg uint8
			if reg, ok = u.popped(cfa - 8); ok {
				v, ok = u.regs.Get(reg)
			}
		}
		if !ok {
			return u.unreadable(cfa - 8)
		}
		u.next.PC = v
		return StopNone
	}
	from := &u.next
	if r.Flags&FlagRAInLR != 0 {
		from = &u.regs
	}
	v, ok := from.Get(info.ra)
	if !ok {
		return StopUnproven
	}
	u.next.Known &^= 1 << info.ra
	u.next.PC = v &^ u.regs.PACMask
	return StopNone
}

func (u *unwinder) applyRow(row *storedRow, flags Flags) StopReason {
	info := u.regs.Arch.info()
	cfa, stop := u.rowCFA(row.Row)
	if stop != StopNone {
		return stop
	}
	u.next = u.regs
	if flags&FlagSignal == 0 {
		u.next.Known &= info.calleeSaved
	}
	u.next.Set(info.sp, cfa)
	for left := row.changes; left != 0; left &= left - 1 {
		reg := uint8(bits.TrailingZeros32(left)) % NumRegs
		p := &row.Regs[reg]
		v, ok, stop := u.callerReg(p, cfa)
		if stop == StopBadMemory && u.belowSP(u.unreadAddr) {
			u.restorePopped(reg, u.unreadAddr)
			continue
		}
		if stop != StopNone {
			return stop
		}
		if ok {
			u.next.Set(reg, v)
		} else {
			u.next.Known &^= 1 << reg
		}
	}
	if !u.knowsNextSP() {
		u.next.Val[info.sp] = u.regs.SP() // a lower bound
	}
	return u.rowRA(row.Row, info, cfa, flags)
}

func (u *unwinder) rowCFA(row *Row) (Addr, StopReason) {
	if row.CFAExpr != nil {
		if p, ok := row.CFAExpr.(CFAFinder); ok {
			return u.finderCFA(p)
		}
		u.exprMem = unreadRecorder{Memory: u.mem}
		v, ok := row.CFAExpr.Eval(&u.regs, &u.exprMem, 0)
		if !ok {
			return 0, u.exprFailure()
		}
		return v, StopNone
	}
	base, ok := u.regs.Get(row.CFAReg)
	if !ok {
		return 0, StopUnproven
	}
	cfa := base + uint64(row.CFAOff)
	if !row.CFADeref {
		return cfa, StopNone
	}
	v, ok := u.mem.Word(cfa)
	if !ok {
		return 0, u.unreadable(cfa)
	}
	return v, StopNone
}

func (u *unwinder) exprFailure() StopReason {
	if u.regs.Known != ^uint64(0) && u.regs.Known&u.regs.Arch.CalleeSaved() != u.regs.Arch.CalleeSaved() {
		return StopUnproven
	}
	if u.exprMem.unread == 0 { // the expression itself is refused
		u.unreadAddr = 0
		return StopBadMemory
	}
	return u.unreadable(u.exprMem.unread)
}

func (u *unwinder) rowRA(row *Row, info *archInfo, cfa Addr, flags Flags) StopReason {
	p := row.RA
	if p.Kind == RuleSame {
		p = RegRule{Kind: RuleReg, Reg: info.ra}
	}
	v, ok, stop := u.callerReg(&p, cfa)
	if stop != StopNone {
		return stop
	}
	if !ok {
		if v, ok = u.raFromScratch(&p); !ok {
			return StopUnproven
		}
	}
	if !info.raOnStack && flags&FlagSignal == 0 {
		u.next.Known &^= 1 << info.ra
	}
	u.next.PC = v &^ u.regs.PACMask
	return StopNone
}

// raFromScratch returns a return address kept in a register that callees may change: the innermost frame's value, if it
// follows a call of this function. Go's functions on arm64 call morestack so.
func (u *unwinder) raFromScratch(p *RegRule) (uint64, bool) {
	if p.Kind != RuleReg || !u.caller || u.knownInnermost>>(p.Reg%NumRegs)&1 == 0 {
		return 0, false
	}
	v := u.regs.Val[p.Reg%NumRegs] &^ u.regs.PACMask
	start, known := u.space.funcStart(u.regs.PC - u.regs.Arch.CallLen())
	return v, known && u.space.isReturnAddressOf(v, start, known)
}

// callerReg returns a register's value; not ok if it cannot be recovered, which does not end the walk.
func (u *unwinder) callerReg(p *RegRule, cfa Addr) (uint64, bool, StopReason) {
	var at Addr
	switch p.Kind {
	case RuleOffset:
		at = cfa + uint64(p.Off)
	case RuleValOffset:
		return cfa + uint64(p.Off), true, StopNone
	case RuleReg:
		v, ok := u.regs.Get(p.Reg)
		return v, ok, StopNone
	case RuleRegOffset:
		base, ok := u.regs.Get(p.Reg)
		if !ok {
			return 0, false, StopNone
		}
		at = base + uint64(p.Off)
	case RuleExpr, RuleValExpr:
		v, ok := p.Expr.Eval(&u.regs, u.mem, cfa)
		if !ok || p.Kind == RuleValExpr {
			return v, ok, StopNone
		}
		at = v
	default:
		return 0, false, StopNone
	}
	v, ok := u.mem.Word(at)
	if !ok {
		return 0, false, u.unreadable(at)
	}
	return v, true, StopNone
}

func (u *unwinder) canApply(r *Rule) bool {
	if r.Flags&FlagRow != 0 && u.space.rows[r.row()].CFAExpr != nil {
		return true
	}
	return u.regs.Known&(1<<(r.CFAReg%NumRegs)) != 0
}

// assumePreserved applies a rule relative to a register that callees may change, with its value in the innermost frame:
// OpenSSL's assembly keeps its stack pointer in rax or r11, and calls helpers that do not change these. The caller's
// frame must be further out, and its return address follow a call of this function.
func (u *unwinder) assumePreserved(r *Rule) bool {
	given := u.knownInnermost>>(r.CFAReg%NumRegs)&1 != 0
	special := r.Flags&(FlagRow|FlagSignal|FlagStackSwitch|FlagLosesRegs) != 0
	if !u.caller || r.CFAReg == u.regs.Arch.SP() || !given || special {
		return false
	}
	if u.apply(r) != StopNone || u.next.SP() <= u.regs.SP() { // apply reads the value, known or not
		return false
	}
	start, known := u.space.funcStart(u.regs.PC - u.regs.Arch.CallLen())
	return u.space.isReturnAddressOf(u.next.PC, start, known)
}

func (u *unwinder) unreadable(addr Addr) StopReason {
	u.unreadAddr = addr
	if u.mem.Cut(addr) {
		return StopStackCut
	}
	return StopBadMemory
}
