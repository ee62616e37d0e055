// SPDX-License-Identifier: Apache-2.0

package dwarfunwind

import (
	"bytes"

	"prywalk/frames"
	"prywalk/internal/wire"
)

// linearExpr is a register, or the CFA, plus a constant; with deref, the word there.
type linearExpr struct {
	off   int64
	reg   uint8
	isCFA bool
	deref bool
}

// linearExprOf recognises the usual expressions:
//
//	DW_OP_bregN off                  registers in a signal frame
//	DW_OP_bregN off, DW_OP_deref     GCC's realigned frames
//	DW_OP_plus_uconst off            with the CFA on the stack
func (t *Table) linearExprOf(code []byte, pushCFA bool) (e linearExpr, ok bool) {
	c := cursor{wire.Cursor{Bytes: code}}
	op := c.U8()
	reg, off, based := c.readRegPlusOffset(op)
	switch {
	case based && reg < frames.NumRegs && reg != t.archRules.pc:
		e.reg, e.off = uint8(reg), off
	case pushCFA && op == opPlusUconst:
		e.isCFA, e.off = true, int64(c.ULEB())
	default:
		return e, false
	}
	e.deref = bytes.Equal(c.Rest(), []byte{opDeref})
	return e, !c.Bad && (e.deref || c.Left() == 0)
}

// placeRule is for DW_CFA_expression: the register is saved at the value.
func (e *linearExpr) placeRule() (frames.RegRule, bool) {
	switch {
	case e.deref: // the word at reg + off is the address
		return frames.RegRule{}, false
	case e.isCFA:
		return frames.RegRule{Kind: frames.RuleOffset, Off: e.off}, true
	}
	return frames.RegRule{Kind: frames.RuleRegOffset, Reg: e.reg, Off: e.off}, true
}

// valueRule is for DW_CFA_val_expression.
func (e *linearExpr) valueRule() (frames.RegRule, bool) {
	switch {
	case e.deref: // the word at the place without the load
		saved := linearExpr{reg: e.reg, off: e.off, isCFA: e.isCFA}
		return saved.placeRule()
	case e.isCFA:
		return frames.RegRule{Kind: frames.RuleValOffset, Off: e.off}, true
	case e.off == 0:
		return frames.RegRule{Kind: frames.RuleReg, Reg: e.reg}, true
	}
	return frames.RegRule{}, false
}
