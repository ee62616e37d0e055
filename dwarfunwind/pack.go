// SPDX-License-Identifier: Apache-2.0

package dwarfunwind

import (
	"bytes"
	"slices"

	"prywalk/frames"
	"prywalk/internal/base/wire"
)

// compactRule converts the machine's row to a Rule, with a Row if it does not fit; false if it is unusable.
func (t *Table) compactRule(f *fde, pc uint64) (frames.Rule, *frames.Row, bool) {
	flags := frames.Flags(0)
	if f.cie.signal {
		flags |= frames.FlagExactPC
	}
	if t.returnRule(f.cie).kind == frames.RuleUndefined {
		return frames.Rule{Flags: flags | frames.FlagRoot, Method: frames.MethodCFI}, nil, true
	}
	if !t.buildRow(f, pc) {
		return frames.Rule{}, nil, false
	}
	rule, needsRow := t.row.Compact(t.arch, frames.MethodCFI, flags)
	if !needsRow && t.spIsCFA() {
		return rule, nil, true
	}
	row := t.row
	return frames.Rule{CFAReg: row.CFAReg, CFAOff: int32(row.CFAOff), Flags: flags, Method: frames.MethodCFI}, &row, true
}

// spIsCFA reports whether the caller's stack pointer is the CFA, as compact rules imply.
func (t *Table) spIsCFA() bool {
	p := &t.row.Regs[t.arch.SP()]
	return p.Kind == frames.RuleSame || p.Kind == frames.RuleValOffset && p.Off == 0
}

func (t *Table) returnRule(c *cie) regRule {
	if slot := c.slot(c.ra); slot >= 0 {
		return t.machine.regs[slot]
	}
	return regRule{}
}

// buildRow fills t.row; false if the row is unusable.
func (t *Table) buildRow(f *fde, pc uint64) bool {
	c := f.cie
	row := &t.row
	*row = frames.Row{}
	if !t.buildCFA(pc) {
		return false
	}
	row.RA = t.frameRule(t.returnRule(c), pc)
	for reg, r := range t.machine.regs[:t.archRules.columns] {
		if r.kind != frames.RuleSame && uint64(reg) != t.archRules.pc {
			row.Regs[reg] = t.frameRule(r, pc)
		}
	}
	if t.archRules.spMayDifferFromCFA {
		t.adjustSPARM64(f)
	}
	return true
}

// buildCFA fills the row's CFA; false if it is unusable.
func (t *Table) buildCFA(pc uint64) bool {
	row := &t.row
	row.CFAReg, row.CFAOff = t.machine.cfaReg, t.machine.cfaOff
	if t.machine.cfaExpr == noExpr {
		return row.CFAReg != frames.NoReg
	}
	code := t.machine.exprs[t.machine.cfaExpr]
	if e, ok := t.linearExprOf(code); ok {
		row.CFAReg, row.CFAOff, row.CFADeref = e.reg, e.off, e.deref
		return true
	}
	row.CFAReg, row.CFAOff = t.arch.SP(), 0
	row.CFAExpr = t.newExpr(code, pc, false)
	return true
}

func (t *Table) frameRule(r regRule, pc uint64) frames.RegRule {
	switch r.kind {
	case frames.RuleExpr, frames.RuleValExpr:
		code := t.machine.exprs[r.off]
		if e, ok := t.linearExprOf(code); ok {
			rule, plain := e.placeRule()
			if r.kind == frames.RuleValExpr {
				rule, plain = e.valueRule()
			}
			if plain {
				return rule
			}
		}
		return frames.RegRule{Kind: r.kind, Expr: t.newExpr(code, pc, true)}
	}
	return frames.RegRule{Kind: r.kind, Off: r.off, Reg: r.reg}
}

// newExpr copies the expression: a view may keep a whole block of the file.
func (t *Table) newExpr(code []byte, pc uint64, pushCFA bool) *expr {
	return &expr{code: slices.Clone(code), pc: pc, pcColumn: t.archRules.pc, pushCFA: pushCFA}
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

// placeRule is for DW_CFA_expression: the register is saved at the value.
func (e *linearExpr) placeRule() (frames.RegRule, bool) {
	return frames.RegRule{Kind: frames.RuleRegOffset, Reg: e.reg, Off: e.off}, !e.deref
}

// valueRule is for DW_CFA_val_expression.
func (e *linearExpr) valueRule() (frames.RegRule, bool) {
	if e.deref { // saved at reg + off
		return frames.RegRule{Kind: frames.RuleRegOffset, Reg: e.reg, Off: e.off}, true
	}
	return frames.RegRule{Kind: frames.RuleReg, Reg: e.reg}, e.off == 0
}
