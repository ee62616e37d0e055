// SPDX-License-Identifier: Apache-2.0

package heuristics

import "prywalk/frames"

const maxFrameSwitch = 40

// frameSwitch returns the rule of code about to switch to another frame (longjmp, swapcontext, Go's gogo). Straight
// code or forward branches lead from pc to a jump to an address not loaded from the stack. The stack pointer was loaded
// from outside of the frame, or is loaded on the way in code whose link register is lost.
func (a *analysis) frameSwitch(q frames.Query) (frames.Rule, *frames.Row, bool) {
	if q.AfterCall {
		return frames.Rule{}, nil, false
	}
	fn, known := a.src.bounds(q.PC)
	if !known || fn.lo == q.PC {
		return frames.Rule{}, nil, false
	}
	ra, ok := a.runToJump(q.PC, fn)
	if !ok {
		return frames.Rule{}, nil, false
	}
	abi, end := a.abi, a.st
	sp := end.regs[abi.sp]
	loadedBefore := sp.isRelativeTo(abi.sp) // before pc, else on the way
	p := a.searchPrologue(frames.Query{PC: q.PC}, fn, span{})
	if !p.found || p.guessed {
		return frames.Rule{}, nil, false
	}
	if loadedBefore && !p.st.isForeignSP() || !loadedBefore && !p.linkRegisterLost(abi) {
		return frames.Rule{}, nil, false
	}
	row := &frames.Row{CFAReg: abi.dwarf(abi.sp), RA: abi.placeOf(ra, noReg)}
	if row.RA.Kind == frames.RuleUndefined {
		return frames.Rule{}, nil, false
	}
	for _, reg := range abi.calleeSaved {
		row.Regs[abi.dwarf(reg)] = abi.placeOf(end.regs[reg], reg)
	}
	if loadedBefore {
		row.CFAOff = int64(sp.off)
	} else {
		row.Regs[row.CFAReg] = abi.placeOf(sp, noReg)
	}
	rule := frames.Rule{CFAReg: row.CFAReg, CFAOff: int32(row.CFAOff), Flags: frames.FlagExactPC,
		Method: frames.MethodHeuristic}
	return rule, row, true
}

func (p *prologue) linkRegisterLost(abi *abi) bool {
	f, ok := p.finding(abi, false)
	return abi.ra != noReg && !(ok && f.ra.kind != lost)
}

// SwitchesStack implements [frames.StackSwitches].
func (s *Source) SwitchesStack(pc uint64, afterCall bool) bool {
	q := frames.Query{PC: pc, AfterCall: afterCall}
	fn, ok := s.boundsOf(q)
	if s.abi == nil || !ok {
		return false
	}
	a := s.analysis()
	defer a.free()
	p := a.searchPrologue(q, fn, span{})
	return p.found && !p.guessed && p.st.isForeignSP()
}

// runToJump returns false if the target was on the stack at pc.
func (p *patterns) runToJump(pc uint64, fn span) (target value, ok bool) {
	st := &p.st
	p.begin(pc, fn)
	var atBranch [len(st.regs)]value
	join := uint64(0) // 0: none
	for range maxFrameSwitch {
		if st.pc >= fn.hi || join != 0 && st.pc > join {
			return value{}, false
		}
		if st.pc == join {
			st.joinRegs(&atBranch)
			join = 0
		}
		f := p.step()
		switch {
		case f.kind == flowNext:
		case f.kind == flowCond && join == 0 && f.target > st.pc:
			join, atBranch = f.target, st.regs
		default:
			target = p.leadsTo(f)
			return target, join == 0 && p.isOutsideOfStack(target)
		}
	}
	return value{}, false
}

func (p *patterns) isOutsideOfStack(v value) bool {
	switch {
	case v.base >= firstUnnamedBase:
		return false
	case v.kind == loaded:
		return v.base != p.abi.sp && v.base != p.abi.fp
	}
	return v.kind == startRelative
}

// x86-64's return pops the target.
func (p *patterns) leadsTo(f *flow) value {
	st := &p.st
	switch {
	case f.toReg != noReg:
		return st.regs[f.toReg]
	case f.kind == flowReturn && p.abi.ra == noReg:
		at := st.regs[st.sp]
		to := st.load(at)
		st.regs[st.sp] = at.plus(8)
		return to
	}
	return value{}
}

func (st *symbolicState) joinRegs(other *[32]value) {
	for i := range st.regs {
		if st.regs[i] != other[i] {
			st.regs[i] = value{}
		}
	}
}

// isForeignSP reports whether the stack pointer is not derived from that at the start.
func (st *symbolicState) isForeignSP() bool {
	sp := st.regs[st.sp]
	switch {
	case sp.base == st.sp || sp.base == st.fp:
		return false
	case sp.kind == startRelative:
		return sp.base < firstUnnamedBase || sp.base == st.foreignSPBase
	}
	return sp.kind == loaded
}

func (st *symbolicState) noteLoadedSP(reg uint8) {
	if sp := st.regs[st.sp]; reg == st.sp && sp.kind == startRelative && sp.base >= firstUnnamedBase {
		st.foreignSPBase = sp.base
	}
}

// The register is noReg for a value that is no register's.
func (abi *abi) placeOf(v value, reg uint8) frames.RegRule {
	switch {
	case v.isStartValue(reg):
		return frames.RegRule{}
	case v.base >= firstUnnamedBase || v.kind == loaded && v.addend != 0:
	case v.kind == loaded:
		return frames.RegRule{Kind: frames.RuleRegOffset, Reg: abi.dwarf(v.base), Off: int64(v.off)}
	case v.kind == startRelative && v.off == 0:
		return frames.RegRule{Kind: frames.RuleReg, Reg: abi.dwarf(v.base)}
	}
	return frames.RegRule{Kind: frames.RuleUndefined}
}
