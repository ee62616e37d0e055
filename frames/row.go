// SPDX-License-Identifier: Apache-2.0

package frames

import (
	"math/bits"
	"slices"
)

// RegRuleKind is the kind of a register rule (DWARF 5 §6.4.1).
type RegRuleKind uint8

// The kinds of [RegRule].
const (
	RuleSame      RegRuleKind = iota // still in the register
	RuleUndefined                    // cannot be recovered
	RuleOffset                       // in memory at CFA + Off
	RuleValOffset                    // CFA + Off itself
	RuleReg                          // in register Reg
	RuleExpr                         // in memory at the address Expr
	RuleValExpr                      // Expr itself
	RuleRegOffset                    // in memory at register Reg + Off
)

// RegRule is the place of a caller's register.
type RegRule struct {
	Expr Expr
	Off  int64
	Kind RegRuleKind
	Reg  uint8
}

// Row is a rule in full: a row of the call frame table (DWARF 5 §6.4.1). Most rows fit into a [Rule] ([Row.Compact]).
type Row struct {
	CFAExpr  Expr // else CFAReg + CFAOff
	CFAOff   int64
	CFADeref bool // the CFA is the word at CFAReg + CFAOff
	CFAReg   uint8
	RA       RegRule          // RuleUndefined is [FlagRoot]
	Regs     [NumRegs]RegRule // by DWARF number
}

// ByFramePointer reports whether the frame pointer is saved relative to itself, but the CFA is not.
func (row *Row) ByFramePointer(arch Arch) bool {
	fp := arch.info().fp
	p := &row.Regs[fp]
	return p.Kind == RuleRegOffset && p.Reg == fp && row.CFAReg != fp && row.CFAExpr == nil
}

// MarkRestored changes the row for code that has restored the frame pointer and the registers kept. Others whose places
// are relative to it become unknown.
func (row *Row) MarkRestored(arch Arch, kept uint32) {
	fp := arch.info().fp
	for reg := range row.Regs {
		switch p := &row.Regs[reg]; {
		case p.Kind != RuleRegOffset || p.Reg != fp:
		case kept>>reg&1 != 0:
			*p = RegRule{}
		default:
			*p = RegRule{Kind: RuleUndefined}
		}
	}
}

// Expr computes a value: a DWARF expression, or a source's code.
type Expr interface {
	// Eval returns false if there is no value. A register's expression begins with cfa on its stack (DWARF 5 §6.4.2.3);
	// cfa is 0 for an expression of the CFA.
	Eval(regs *Regs, mem Memory, cfa uint64) (uint64, bool)
}

// Compact returns the rule of a row and, if that does not suffice, a copy of the row.
func (row *Row) Compact(arch Arch, m Method, flags Flags) (Rule, *Row) {
	r := Rule{CFAReg: row.CFAReg, CFAOff: int32(row.CFAOff), Flags: flags, Method: m}
	if row.CFAExpr == nil && !row.CFADeref && int64(r.CFAOff) == row.CFAOff && row.packSaved(arch, &r) {
		return r, nil
	}
	r.Saved = [NumCompact]uint8{}
	r.Flags &^= FlagRAInLR
	own := *row
	return r, &own
}

// packSaved sets r.Saved; false if r cannot express the row's registers.
func (row *Row) packSaved(arch Arch, r *Rule) bool {
	info := arch.info()
	sp := row.Regs[info.sp] // the caller's is the CFA
	if r.Flags&FlagExactPC != 0 || sp.Kind != RuleSame && sp != (RegRule{Kind: RuleValOffset}) || !row.packRA(info, r) {
		return false
	}
	left := info.calleeSaved
	if !info.raOnStack {
		left |= 1 << info.ra
	}
	for i, reg := range info.compact {
		if reg == NoReg {
			continue
		}
		left &^= 1 << reg
		if reg == info.ra {
			continue // packRA placed it
		}
		switch p := row.Regs[reg]; p.Kind {
		case RuleSame:
		case RuleOffset:
			units, ok := SavedUnits(p.Off)
			if !ok {
				return false
			}
			r.Saved[i] = units
		default:
			return false
		}
	}
	for ; left != 0; left &= left - 1 {
		if row.Regs[bits.TrailingZeros64(left)%NumRegs].Kind != RuleSame {
			return false
		}
	}
	return true
}

// packRA sets the place of the return address; false if only a Row can say it.
func (row *Row) packRA(info *archInfo, r *Rule) bool {
	if info.raOnStack {
		return row.RA.Kind == RuleOffset && row.RA.Off == -8
	}
	switch row.RA.Kind {
	case RuleSame:
		r.Flags |= FlagRAInLR
		return true
	case RuleOffset:
		units, ok := SavedUnits(row.RA.Off)
		r.Saved[slices.Index(info.compact[:], info.ra)] = units
		return ok
	}
	return false
}
