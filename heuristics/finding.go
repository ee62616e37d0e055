// SPDX-License-Identifier: Apache-2.0

package heuristics

import "prywalk/frames"

// maxCalleeSaved is the number of AArch64's callee-saved registers (x19–x29), x86-64 has fewer.
const maxCalleeSaved = 11

type savedKind uint8

const (
	inRegister savedKind = iota
	inMemory             // at base + off
	inFrame              // at CFA + off
	inOther              // in register base
	lost
)

// savedReg is the place of a caller's register, by the registers at pc.
type savedReg struct {
	kind savedKind
	base uint8
	off  int32
}

// finding is the result of an analysis. The CFA is cfa.base + cfa.off, or the word loaded from there.
type finding struct {
	cfa         value
	ra          savedReg
	calleeSaved [maxCalleeSaved]savedReg
}

// fill returns false if a row cannot express the finding.
func (f *finding) fill(a *abi, row *frames.Row) bool {
	if f.cfa.base >= firstUnnamedBase {
		return false
	}
	*row = frames.Row{
		CFAReg:   a.dwarf(f.cfa.base),
		CFAOff:   int64(f.cfa.off),
		CFADeref: f.cfa.kind == loaded,
		RA:       frames.RegRule{Kind: frames.RuleOffset, Off: -8},
	}
	if f.cfa.kind == loaded && f.cfa.addend != 0 {
		row.CFADeref, row.CFAOff = false, 0
		row.CFAExpr = savedSP{reg: row.CFAReg, off: int64(f.cfa.off), add: int64(f.cfa.addend)}
	}
	for i, reg := range a.calleeSaved {
		row.Regs[a.dwarf(reg)] = f.regRule(a, f.calleeSaved[i])
	}
	if a.ra != noReg {
		if f.ra.kind == lost {
			return false // the walker would take it for a root
		}
		row.RA = f.regRule(a, f.ra)
		row.Regs[a.ra] = row.RA
	}
	return true
}

func (f *finding) regRule(a *abi, p savedReg) frames.RegRule {
	switch {
	case p.kind == inRegister:
		return frames.RegRule{}
	case p.kind == inOther:
		return frames.RegRule{Kind: frames.RuleReg, Reg: a.dwarf(p.base)}
	case p.kind == inFrame:
		return frames.RegRule{Kind: frames.RuleOffset, Off: int64(p.off)}
	case p.kind == lost || p.base >= firstUnnamedBase:
		return frames.RegRule{Kind: frames.RuleUndefined}
	case p.base == f.cfa.base && f.cfa.kind == startRelative:
		return frames.RegRule{Kind: frames.RuleOffset, Off: int64(p.off) - int64(f.cfa.off)}
	}
	return frames.RegRule{Kind: frames.RuleRegOffset, Reg: a.dwarf(p.base), Off: int64(p.off)}
}

// findingAtReturn returns what a return proves. own: the code keeps only the frame pointer.
func (s *Source) findingAtReturn(st *symbolicState, fl *flow, own bool) (f finding, ok bool) {
	a := s.abi
	f.cfa = fl.ret
	if fl.ret.kind != startRelative && fl.ret.kind != loaded || fl.ret.base >= firstUnnamedBase {
		return f, false
	}
	if fl.ret.kind == loaded && fl.ret.base != a.sp && fl.ret.base != a.fp {
		return f, false // the frame of another function (swapcontext)
	}
	if fl.ret.kind == startRelative && fl.ret.base == a.sp && int64(fl.ret.off) < a.entry {
		return f, false
	}
	if a.ra != noReg && !s.setPlaceAtStart(fl.ra, a.ra, &f.ra) && !s.setRAFromCallerSaved(fl.ra, &f.ra) {
		return f, false
	}
	for i, reg := range a.calleeSaved {
		if v := st.regs[reg]; s.isLoadedFromStack(v, fl.ret.base) && s.setPlaceAtStart(v, reg, &f.calleeSaved[i]) {
			continue
		}
		if !s.opt.JIT && !own || reg == a.fp {
			return f, false
		}
		f.calleeSaved[i] = savedReg{kind: lost}
	}
	return f, true
}

// isLoadedFromStack reports whether a value was loaded by stack pointer, frame pointer or the CFA's register. V8 loads
// callee-saved registers from tables.
func (s *Source) isLoadedFromStack(v value, cfa uint8) bool {
	return v.kind != loaded || v.base == s.abi.sp || v.base == s.abi.fp || v.base == cfa
}

// setPlaceAtStart sets p to where a register was at the start; false if its value is not the caller's.
func (s *Source) setPlaceAtStart(v value, reg uint8, p *savedReg) bool {
	switch {
	case v.isStartValue(reg):
		*p = savedReg{}
	case v.kind == loaded && v.addend == 0:
		*p = savedReg{inMemory, v.base, v.off}
	default:
		return false
	}
	return true
}

// setRAFromCallerSaved sets p to a caller-saved register that has the return address (arm64's swapcontext: x1).
// Callee-saved ones do not count: other uses of them look the same.
func (s *Source) setRAFromCallerSaved(v value, p *savedReg) bool {
	if v.kind != startRelative || v.off != 0 || v.base >= firstUnnamedBase || s.abi.scratch>>v.base&1 == 0 {
		return false
	}
	*p = savedReg{kind: inOther, base: v.base}
	return true
}

// savedSP is a CFA by a saved stack pointer: the word at reg + off, plus add.
type savedSP struct {
	reg      uint8
	off, add int64
}

// Eval implements [frames.Expr].
func (e savedSP) Eval(regs *frames.Regs, mem frames.Memory, _ uint64) (uint64, bool) {
	base, ok := regs.Get(e.reg)
	if !ok {
		return 0, false
	}
	v, ok := mem.Word(base + uint64(e.off))
	return v + uint64(e.add), ok
}
