// SPDX-License-Identifier: Apache-2.0

package dwarfunwind

import (
	"bytes"

	"prywalk/frames"
	"prywalk/internal/base/wire"
)

// compactRule converts the machine's row to a Rule, with a Row if it does not fit; false if it is unusable.
func (t *Table) compactRule(f *fde, pc uint64) (frames.Rule, *frames.Row, bool) {
	flags := frames.Flags(0)
	if f.cie.signal {
		flags |= frames.FlagExactPC
	}
	if f.cie.place(&t.machine.row, f.cie.ra).Kind == frames.RuleUndefined {
		return frames.Rule{Flags: flags | frames.FlagRoot, Method: frames.MethodCFI}, nil, true
	}
	if !t.buildRow(f, pc) {
		return frames.Rule{}, nil, false
	}
	rule, row := t.machine.row.Compact(t.arch, frames.MethodCFI, flags)
	return rule, row, true
}

// buildRow completes the machine's row; false if it is unusable.
func (t *Table) buildRow(f *fde, pc uint64) bool {
	row := &t.machine.row
	if !t.buildCFA(pc) {
		return false
	}
	row.RA = *f.cie.place(row, f.cie.ra)
	t.decode(&row.RA, pc)
	for reg := range row.Regs[:t.archRules.columns] {
		if row.Regs[reg].Expr != nil {
			t.decode(&row.Regs[reg], pc)
		}
	}
	if t.archRules.pc < frames.NumRegs {
		row.Regs[t.archRules.pc] = frames.RegRule{}
	}
	if t.archRules.spMayDifferFromCFA {
		t.adjustSPARM64(f)
	}
	return true
}

// buildCFA decodes the row's CFA; false if it is unusable.
func (t *Table) buildCFA(pc uint64) bool {
	row := &t.machine.row
	code, isExpr := row.CFAExpr.(*expr)
	if !isExpr {
		return row.CFAReg != frames.NoReg
	}
	if e, ok := t.linearExprOf(code.code); ok {
		row.CFAReg, row.CFAOff, row.CFADeref, row.CFAExpr = e.reg, e.off, e.deref, nil
		return true
	}
	row.CFAReg, row.CFAOff, row.CFAExpr = t.arch.SP(), 0, code.at(pc)
	return true
}

// decode replaces the expression of a rule, if it has one.
func (t *Table) decode(p *frames.RegRule, pc uint64) {
	code, isExpr := p.Expr.(*expr)
	if !isExpr {
		return
	}
	if e, ok := t.linearExprOf(code.code); ok {
		if rule, plain := e.rule(p.Kind); plain {
			*p = rule
			return
		}
	}
	p.Expr = code.at(pc)
}

// linearExpr is a register plus a constant; with deref, the word there.
type linearExpr struct {
	off   int64
	reg   uint8
	deref bool
}

// linearExprOf recognises the usual expressions:
//
//	DW_OP_bregN off                  registers in a signal frame
//	DW_OP_bregN off, DW_OP_deref     GCC's realigned frames
func (t *Table) linearExprOf(code []byte) (e linearExpr, ok bool) {
	c := cursor{wire.Cursor{Bytes: code}}
	reg, off, ok := c.readRegPlusOffset(c.U8())
	if !ok || reg >= frames.NumRegs || reg == t.archRules.pc {
		return e, false
	}
	e = linearExpr{off: off, reg: uint8(reg), deref: bytes.Equal(c.Rest(), []byte{opDeref})}
	return e, !c.Bad && (e.deref || c.Left() == 0)
}

// rule returns the rule of DW_CFA_expression (kind RuleExpr: the register is saved at the value) or of
// DW_CFA_val_expression without an expression; false if there is none.
func (e *linearExpr) rule(kind frames.RegRuleKind) (frames.RegRule, bool) {
	if e.deref == (kind == frames.RuleValExpr) { // saved at reg + off
		return frames.RegRule{Kind: frames.RuleRegOffset, Reg: e.reg, Off: e.off}, true
	}
	return frames.RegRule{Kind: frames.RuleReg, Reg: e.reg}, !e.deref && e.off == 0
}
