// SPDX-License-Identifier: Apache-2.0

package dwarfunwind

import (
	"bytes"

	"prywalk/frames"
	"prywalk/internal/base/wire"
)

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
