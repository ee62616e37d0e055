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

// linearExprOf recognises the usual expressions at pc:
//
//	DW_OP_bregN off                  registers in a signal frame
//	DW_OP_bregN off, DW_OP_deref     GCC's realigned frames
//	DW_OP_plus_uconst off            with the CFA on the stack
//	the CFA of a PLT                 pltCFA
func (t *Table) linearExprOf(code []byte, pc uint64, pushCFA bool) (e linearExpr, ok bool) {
	if plt, ok := pltCFA(code, pc); ok && !pushCFA && t.arch == frames.X86_64 {
		return plt, true
	}
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

// pltCFA recognises rsp + 8 + ((rip & 15 >= n) << 3), the CFA of a procedure linkage table of x86-64 (binutils,
// bfd/elf64-x86-64.c, elf_x86_64_eh_frame_lazy_plt). The entry of 16 bytes has pushed 8 bytes from offset n on.
func pltCFA(code []byte, pc uint64) (linearExpr, bool) {
	const litN = 6 // index of DW_OP_litN, whose operand is n
	if len(code) != 11 || code[litN] < opLit0 || code[litN] > opLit0+15 {
		return linearExpr{}, false
	}
	e := linearExpr{reg: frames.X86RSP, off: 8}
	if pc&15 >= uint64(code[litN]-opLit0) {
		e.off = 16
	}
	return e, string(code[:litN]) == "\x77\x08\x80\x00\x3f\x1a" && string(code[litN+1:]) == "\x2a\x33\x24\x22"
}
