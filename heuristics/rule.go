// SPDX-License-Identifier: Apache-2.0

package heuristics

import "prywalk/frames"

// arm64 has x19–x29, x86-64 fewer.
const maxCalleeSaved = 11

// finding is the result of an analysis, with hardware numbers. The CFA is cfa.base + cfa.off, or the word there plus
// cfa.addend. The places of the caller's registers are by the registers at pc.
type finding struct {
	cfa         value
	ra          frames.RegRule
	calleeSaved [maxCalleeSaved]frames.RegRule
}

var lost = frames.RegRule{Kind: frames.RuleUndefined}

func inMemory(base uint8, off int32) frames.RegRule {
	return frames.RegRule{Kind: frames.RuleRegOffset, Reg: base, Off: int64(off)}
}

func isInMemory(p frames.RegRule) bool { return p.Kind == frames.RuleRegOffset }

// placeOf returns the place of v for reg; noReg if v is no register's.
func placeOf(v value, reg uint8) frames.RegRule {
	switch {
	case v.isStartValue(reg):
		return frames.RegRule{}
	case v.base >= firstUnnamedBase:
	case v.kind == loaded && v.addend == 0:
		return inMemory(v.base, v.off)
	case v.kind == startRelative && v.off == 0:
		return frames.RegRule{Kind: frames.RuleReg, Reg: v.base}
	}
	return lost
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
	if f.cfa.base == a.abi.fp && f.calleeSaved[0] == inMemory(a.abi.fp, 0) {
		method = frames.MethodFP
	}
	var row frames.Row
	if q.SPOnly && f.cfa.base != a.abi.sp || !f.fill(a.abi, &row) {
		return frames.Rule{}, nil, false
	}
	r, full := row.Compact(a.src.opt.Arch, method, 0)
	return r, full, true
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
		if f.ra == lost {
			return false // the walker would take it for a root
		}
		row.RA = f.regRule(abi, f.ra)
		row.Regs[abi.dwarf(abi.ra)] = row.RA
	}
	return true
}

// regRule converts a place to DWARF numbers, and to one by the CFA if it has the same base.
func (f *finding) regRule(abi *abi, p frames.RegRule) frames.RegRule {
	if isInMemory(p) && p.Reg == f.cfa.base && f.cfa.kind == startRelative {
		return frames.RegRule{Kind: frames.RuleOffset, Off: p.Off - int64(f.cfa.off)}
	}
	p.Reg = abi.dwarf(p.Reg)
	return p
}
