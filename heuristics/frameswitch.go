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
	atJump := a.st // leavesFrame runs other paths
	if !a.leavesFrame(q.PC, fn, atJump.spFollowsStart()) {
		return frames.Rule{}, nil, false
	}
	row := a.abi.switchRow(&atJump, ra)
	if row.RA.Kind == frames.RuleUndefined {
		return frames.Rule{}, nil, false
	}
	rule := frames.Rule{CFAReg: row.CFAReg, CFAOff: int32(row.CFAOff), Flags: frames.FlagExactPC,
		Method: frames.MethodHeuristic}
	return rule, row, true
}

// leavesFrame reports whether the code at pc is behind the load of another frame's stack pointer (loaded), or else lost
// its link register.
func (a *analysis) leavesFrame(pc uint64, fn span, loaded bool) bool {
	p := a.searchPrologue(frames.Query{PC: pc}, fn, span{})
	switch {
	case !p.found || p.guessed:
		return false
	case loaded:
		return p.st.isForeignSP()
	}
	f, ok := p.finding(false)
	return p.abi.ra != noReg && !(ok && f.ra != lost)
}

// switchRow has the registers of the frame that a jump to ra continues.
func (abi *abi) switchRow(atJump *symbolicState, ra value) *frames.Row {
	row := &frames.Row{CFAReg: abi.dwarf(abi.sp), RA: abi.placeOf(ra, noReg)}
	for _, reg := range abi.calleeSaved {
		row.Regs[abi.dwarf(reg)] = abi.placeOf(atJump.regs[reg], reg)
	}
	if sp := atJump.regs[abi.sp]; atJump.spFollowsStart() {
		row.CFAOff = int64(sp.off)
	} else {
		row.Regs[row.CFAReg] = abi.placeOf(sp, noReg)
	}
	return row
}

// SwitchesStack implements [frames.StackSwitches].
func (s *Source) SwitchesStack(pc frames.ModuleAddr, afterCall bool) bool {
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
	join := uint64(0) // 0 means none
	for range maxFrameSwitch {
		if st.pc >= fn.hi || join != 0 && st.pc > join {
			return value{}, false
		}
		if st.pc == join {
			for i := range st.regs {
				if st.regs[i] != atBranch[i] { // differs by path
					st.regs[i] = value{}
				}
			}
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

// isOutsideOfStack reports whether a value was in a register at the start, or in memory that neither stack pointer nor
// frame pointer led to.
func (p *patterns) isOutsideOfStack(v value) bool {
	switch {
	case v.base >= firstUnnamedBase:
		return false
	case v.kind == loaded:
		return v.base != p.abi.sp && v.base != p.abi.fp
	}
	return v.kind == startRelative
}

// leadsTo returns the target of a jump or return. On x86-64 it pops that of a return.
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

// placeOf is the function placeOf with DWARF numbers.
func (abi *abi) placeOf(v value, reg uint8) frames.RegRule {
	p := placeOf(v, reg)
	p.Reg = abi.dwarf(p.Reg)
	return p
}
