// SPDX-License-Identifier: Apache-2.0

package frames

import (
	"math/bits"
	"slices"
)

// RegRuleKind says where a caller's register is to be found (DWARF 5 §6.4.1).
type RegRuleKind uint8

// The kinds of [RegRule].
const (
	RuleSame      RegRuleKind = iota // still in the register
	RuleUndefined                    // cannot be recovered
	RuleOffset                       // in memory at CFA + Off
	RuleValOffset                    // the value CFA + Off itself
	RuleReg                          // in the register Reg
	RuleExpr                         // in memory at the address that Expr gives
	RuleValExpr                      // the value that Expr gives
	RuleRegOffset                    // in memory at the register Reg + Off
)

// RegRule tells where one of the caller's registers is.
type RegRule struct {
	Expr Expr
	Off  int64
	Kind RegRuleKind
	Reg  uint8
}

// Row is a rule in full, for what a [Rule] cannot hold: expressions, places far
// from the CFA, rare registers.
type Row struct {
	// CFAExpr gives the CFA where it is not a register plus an offset.
	CFAExpr Expr
	// CFAOff and CFAReg give it otherwise.
	CFAOff int64
	// CFADeref: the CFA is the word in memory at CFAReg + CFAOff.
	CFADeref bool
	CFAReg   uint8
	// RA is where the return address is.
	RA RegRule
	// Regs are the places of the registers by DWARF number.
	Regs [NumRegs]RegRule
}

// storedRow is a Row in the table of a Space, with the registers that it changes.
type storedRow struct {
	*Row
	changes uint32
}

// changed gives the set of registers that are not left as they are.
func (row *Row) changed() (set uint32) {
	for reg := range row.Regs {
		if row.Regs[reg].Kind != RuleSame {
			set |= 1 << reg
		}
	}
	return set
}

// ByFramePointer reports whether the row says where registers are relative to the frame pointer, that itself among
// them, but not the CFA.
func (row *Row) ByFramePointer(arch Arch) bool {
	fp := arch.info().fp
	p := &row.Regs[fp]
	return p.Kind == RuleRegOffset && p.Reg == fp && row.CFAReg != fp && row.CFAExpr == nil
}

// GivenBack makes the row one for code that has given back these registers, the frame pointer among them, as
// [Returns] tells. What lies relative to the frame pointer cannot be found any more.
func (row *Row) GivenBack(arch Arch, kept uint32) {
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

// Expr computes a value from a register set and memory: a DWARF expression, or
// any rule that a source keeps as code.
type Expr interface {
	// Eval gives the value; false if it cannot be computed. cfa is the frame's
	// CFA, which expressions for registers find on their stack (DWARF 5
	// §6.4.2.2); for an expression that gives the CFA itself it is 0.
	Eval(regs *Regs, mem Memory, cfa uint64) (uint64, bool)
}

// Rule gives the compact form of a row, or a rule that must keep its Row; the
// second result says whether the row is still needed.
func (row *Row) Rule(arch Arch, m Method, flags Flags) (Rule, bool) {
	r := Rule{CFAReg: row.CFAReg, CFAOff: int32(row.CFAOff), Flags: flags, Method: m}
	if row.CFAExpr != nil || row.CFADeref || int64(r.CFAOff) != row.CFAOff || !row.fits(arch, &r) {
		r.Saved = [NumCompact]uint8{}
		r.Flags &^= FlagLeafRA
		return r, true
	}
	return r, false
}

// compactLoss makes r a rule that needs no row if all that keeps it from being one is that the values of registers
// are lost. JIT compilers keep none but the frame pointer. Such a rule can be applied by the quick step, and takes
// no place in the table of rows.
func (row *Row) compactLoss(arch Arch, r *Rule) bool {
	info := arch.info()
	if r.Flags&^FlagSwitch != 0 || row.CFAReg != info.sp && row.CFAReg != info.fp {
		return false
	}
	rest, lost := *row, uint8(0)
	for reg := range uint8(NumRegs) {
		if rest.Regs[reg].Kind == RuleUndefined && reg != info.sp && reg != info.ra {
			rest.Regs[reg] = RegRule{}
			if i := slices.Index(info.compact[:], reg); i >= 0 {
				lost |= 1 << i
			} else if info.kept>>reg&1 != 0 {
				return false
			}
		}
		if p := &rest.Regs[reg]; p.Kind != RuleSame && info.kept>>reg&1 == 0 && reg != info.ra {
			return false // a Row restores it
		}
	}
	c, more := rest.Rule(arch, r.Method, r.Flags)
	if more || lost == 0 {
		return false
	}
	c.Flags |= FlagLoss
	c.lost = lost
	*r = c
	return true
}

// fits fills in r.Saved and reports whether it could hold everything that the
// walk needs: all registers that a callee keeps, and the return address.
func (row *Row) fits(arch Arch, r *Rule) bool {
	info := arch.info()
	if r.Flags&FlagSignal != 0 || !row.raFits(info, r) {
		return false
	}
	left := info.kept
	if !info.raOnStack {
		left |= 1 << info.ra
	}
	for i, reg := range info.compact {
		if reg == NoReg {
			continue
		}
		left &^= 1 << reg
		if reg == info.ra {
			continue // raFits placed it
		}
		switch p := row.Regs[reg]; p.Kind {
		case RuleSame:
		case RuleOffset:
			u, ok := SavedUnits(p.Off)
			if !ok {
				return false
			}
			r.Saved[i] = u
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

// raFits places the return address in r; false if only a Row can hold it.
func (row *Row) raFits(info *archInfo, r *Rule) bool {
	if info.raOnStack {
		return row.RA.Kind == RuleOffset && row.RA.Off == -8
	}
	switch row.RA.Kind {
	case RuleSame:
		r.Flags |= FlagLeafRA
		return true
	case RuleOffset:
		for i, reg := range info.compact {
			if reg == info.ra {
				u, ok := SavedUnits(row.RA.Off)
				r.Saved[i] = u
				return ok
			}
		}
	}
	return false
}
