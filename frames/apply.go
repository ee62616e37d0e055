// SPDX-License-Identifier: Apache-2.0

package frames

import "math/bits"

// apply computes the caller's registers into w.next by a rule.
func (w *Walker) apply(r *Rule) StopReason {
	if r.Flags&FlagRow != 0 {
		return w.applyRow(&w.space.rows[r.row()], r.Flags)
	}
	info := w.regs.Arch.info()
	cfa := w.regs.Val[r.CFAReg%NumRegs] + uint64(int64(r.CFAOff))
	w.next = w.regs
	w.next.Known &= info.kept
	if stop := w.restoreCompact(r, info, cfa); stop != StopNone {
		return stop
	}
	if stop := w.returnAddress(r, info, cfa); stop != StopNone {
		return stop
	}
	w.next.Set(info.sp, cfa)
	return StopNone
}

// restoreCompact reads the registers that Rule.Saved places.
func (w *Walker) restoreCompact(r *Rule, info *archInfo, cfa Addr) StopReason {
	for i, units := range r.Saved {
		if units == 0 {
			if r.loses(i) {
				w.next.Known &^= 1 << info.compact[i]
			}
			continue
		}
		at := cfa - 8*uint64(units)
		v, ok := w.mem.Word(at)
		switch {
		case ok:
			w.next.Set(info.compact[i], v)
		case w.belowSP(at):
			w.restorePopped(info.compact[i], at)
		default:
			return w.missing(at)
		}
	}
	return StopNone
}

// returnAddress finds the caller's program counter.
func (w *Walker) returnAddress(r *Rule, info *archInfo, cfa Addr) StopReason {
	if info.raOnStack {
		v, ok := w.mem.Word(cfa - 8)
		if !ok && w.belowSP(cfa-8) {
			var reg uint8
			if reg, ok = w.popped(cfa - 8); ok {
				v, ok = w.regs.Get(reg)
			}
		}
		if !ok {
			return w.missing(cfa - 8)
		}
		w.next.PC = v
		return StopNone
	}
	from := &w.next
	if r.Flags&FlagLeafRA != 0 {
		from = &w.regs
	}
	v, ok := from.Get(info.ra)
	if !ok {
		return StopUnproven
	}
	w.next.Known &^= 1 << info.ra
	w.next.PC = v &^ w.regs.PACMask
	return StopNone
}

// applyRow is apply for a rule in full.
func (w *Walker) applyRow(row *storedRow, flags Flags) StopReason {
	info := w.regs.Arch.info()
	cfa, stop := w.rowCFA(row.Row)
	if stop != StopNone {
		return stop
	}
	w.next = w.regs
	if flags&FlagSignal == 0 {
		w.next.Known &= info.kept
	}
	w.next.Set(info.sp, cfa)
	for left := row.changes; left != 0; left &= left - 1 {
		reg := uint8(bits.TrailingZeros32(left)) % NumRegs
		p := &row.Regs[reg]
		v, ok, stop := w.callerReg(p, cfa)
		if stop == StopBadMemory && w.belowSP(w.unreadAddr) {
			w.restorePopped(reg, w.unreadAddr)
			continue
		}
		if stop != StopNone {
			return stop
		}
		if ok {
			w.next.Set(reg, v)
		} else {
			w.next.Known &^= 1 << reg
		}
	}
	if !w.knowsNext() {
		w.next.Val[info.sp] = w.regs.SP() // the frame is further out, nothing else is known
	}
	return w.rowRA(row.Row, info, cfa, flags)
}

// rowCFA computes the CFA of a row.
func (w *Walker) rowCFA(row *Row) (Addr, StopReason) {
	if row.CFAExpr != nil {
		if p, ok := row.CFAExpr.(Prover); ok {
			return w.proved(p)
		}
		v, ok := row.CFAExpr.Eval(&w.regs, w.mem, 0)
		if !ok {
			return 0, w.exprFailure()
		}
		return v, StopNone
	}
	base, ok := w.regs.Get(row.CFAReg)
	if !ok {
		return 0, StopUnproven
	}
	cfa := base + uint64(row.CFAOff)
	if !row.CFADeref {
		return cfa, StopNone
	}
	v, ok := w.mem.Word(cfa)
	if !ok {
		return 0, w.missing(cfa)
	}
	return v, StopNone
}

// exprFailure tells an expression that lacked a register from one that read
// where nothing is.
func (w *Walker) exprFailure() StopReason {
	if w.regs.Known != ^uint64(0) && w.regs.Known&w.regs.Arch.Kept() != w.regs.Arch.Kept() {
		return StopUnproven
	}
	return StopBadMemory
}

// rowRA computes the return address of a row.
func (w *Walker) rowRA(row *Row, info *archInfo, cfa Addr, flags Flags) StopReason {
	if row.RA.Kind == RuleUndefined {
		return StopRoot
	}
	p := row.RA
	if p.Kind == RuleSame {
		p = RegRule{Kind: RuleReg, Reg: info.ra}
	}
	v, ok, stop := w.callerReg(&p, cfa)
	if stop != StopNone {
		return stop
	}
	if !ok {
		if v, ok = w.handed(&p); !ok {
			return StopUnproven
		}
	}
	if !info.raOnStack && flags&FlagSignal == 0 {
		w.next.Known &^= 1 << info.ra
	}
	w.next.PC = v &^ w.regs.PACMask
	return StopNone
}

// handed gives a caller's return address that it has left in a register which its callee may change, as it does in
// none but the innermost frame's. Go's functions on arm64 call morestack so. Like the stack pointer of
// [Walker.untouched] it is a hypothesis, and believed only if it follows a call of this very function.
func (w *Walker) handed(p *RegRule) (uint64, bool) {
	if p.Kind != RuleReg || !w.caller || w.given>>(p.Reg%NumRegs)&1 == 0 {
		return 0, false
	}
	v := w.regs.Val[p.Reg%NumRegs] &^ w.regs.PACMask
	start, known := w.space.funcStart(w.regs.PC - w.regs.Arch.CallLen())
	return v, known && w.calls(v, start, known)
}

// callerReg computes a value from where a row says that it is. The second result is
// false for a value that cannot be recovered, which is no failure of the walk.
func (w *Walker) callerReg(p *RegRule, cfa Addr) (uint64, bool, StopReason) {
	var at Addr
	switch p.Kind {
	case RuleOffset:
		at = cfa + uint64(p.Off)
	case RuleValOffset:
		return cfa + uint64(p.Off), true, StopNone
	case RuleReg:
		v, ok := w.regs.Get(p.Reg)
		return v, ok, StopNone
	case RuleRegOffset:
		base, ok := w.regs.Get(p.Reg)
		if !ok {
			return 0, false, StopNone
		}
		at = base + uint64(p.Off)
	case RuleExpr, RuleValExpr:
		v, ok := p.Expr.Eval(&w.regs, w.mem, cfa)
		if !ok || p.Kind == RuleValExpr {
			return v, ok, StopNone
		}
		at = v
	default:
		return 0, false, StopNone
	}
	v, ok := w.mem.Word(at)
	if !ok {
		return 0, false, w.missing(at)
	}
	return v, true, StopNone
}
