// SPDX-License-Identifier: Apache-2.0

package heuristics

import "prywalk/frames"

// arm64 has x19–x29, x86-64 fewer.
const maxCalleeSaved = 11

type savedKind uint8

const (
	inRegister      savedKind = iota
	inMemory                  // at base + off
	inFrame                   // at CFA + off
	inOtherRegister           // in register base
	lost
)

// savedReg is the place of a caller's register, by the registers at pc.
type savedReg struct {
	kind savedKind
	base uint8
	off  int32
}

// finding is the result of an analysis. The CFA is cfa.base + cfa.off, or the word there plus cfa.addend.
type finding struct {
	cfa         value
	ra          savedReg
	calleeSaved [maxCalleeSaved]savedReg
}

func (a *analysis) functionRule(q frames.Query) (frames.Rule, *frames.Row, bool) {
	f, ok := a.frame(q)
	if !ok {
		return frames.Rule{}, nil, false
	}
	return a.rule(&f, q)
}

// rule returns false if no row can express the finding, or with q.SPOnly if the CFA is not by the stack pointer.
func (a *analysis) rule(f *finding, q frames.Query) (frames.Rule, *frames.Row, bool) {
	method := frames.MethodHeuristic
	if f.cfa.base == a.abi.fp && f.calleeSaved[0] == (savedReg{inMemory, a.abi.fp, 0}) {
		method = frames.MethodFP
	}
	if q.SPOnly && f.cfa.base != a.abi.sp || !f.fill(a.abi, &a.row) {
		return frames.Rule{}, nil, false
	}
	r, needsRow := a.row.Compact(a.src.opt.Arch, method, 0)
	if !needsRow {
		return r, nil, true
	}
	row := a.row
	return r, &row, true
}

// fill sets the row of a finding; false if a row cannot express it.
func (f *finding) fill(abi *abi, row *frames.Row) bool {
	if f.cfa.base >= firstUnnamedBase {
		return false
	}
	*row = frames.Row{
		CFAReg:   abi.dwarf(f.cfa.base),
		CFAOff:   int64(f.cfa.off),
		CFADeref: f.cfa.kind == loaded,
		RA:       frames.RegRule{Kind: frames.RuleOffset, Off: -8},
	}
	if f.cfa.kind == loaded && f.cfa.addend != 0 {
		row.CFADeref, row.CFAOff = false, 0
		row.CFAExpr = CFA{Reg: row.CFAReg, Saved: true, Off: int64(f.cfa.off), Add: int64(f.cfa.addend)}
	}
	for i, reg := range abi.calleeSaved {
		row.Regs[abi.dwarf(reg)] = f.regRule(abi, f.calleeSaved[i])
	}
	if abi.ra != noReg {
		if f.ra.kind == lost {
			return false // the walker would take it for a root
		}
		row.RA = f.regRule(abi, f.ra)
		row.Regs[abi.dwarf(abi.ra)] = row.RA
	}
	return true
}

func (f *finding) regRule(abi *abi, p savedReg) frames.RegRule {
	switch {
	case p.kind == inRegister:
		return frames.RegRule{}
	case p.kind == inOtherRegister:
		return frames.RegRule{Kind: frames.RuleReg, Reg: abi.dwarf(p.base)}
	case p.kind == inFrame:
		return frames.RegRule{Kind: frames.RuleOffset, Off: int64(p.off)}
	case p.kind == lost || p.base >= firstUnnamedBase:
		return frames.RegRule{Kind: frames.RuleUndefined}
	case p.base == f.cfa.base && f.cfa.kind == startRelative:
		return frames.RegRule{Kind: frames.RuleOffset, Off: int64(p.off) - int64(f.cfa.off)}
	}
	return frames.RegRule{Kind: frames.RuleRegOffset, Reg: abi.dwarf(p.base), Off: int64(p.off)}
}
