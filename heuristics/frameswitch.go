// SPDX-License-Identifier: Apache-2.0

package heuristics

import "prywalk/frames"

// maxFrameSwitch bounds the instructions from the load of another frame's stack pointer to the jump.
const maxFrameSwitch = 40

// frameSwitch returns the rule of code about to switch to another frame (longjmp, swapcontext, Go's gogo), which takes
// the caller's place at exactly that instruction.
//
// Straight instructions must lead from pc to a jump to an address not loaded from the stack. The stack pointer was
// loaded from outside of the frame, or is loaded on the way in code whose link register is lost.
func (s *Source) frameSwitch(w *interpreter, q frames.Query) (frames.Rule, *frames.Row, bool) {
	if q.Caller {
		return frames.Rule{}, nil, false
	}
	lo, hi, known := s.bounds(q.PC)
	if !known || lo == q.PC {
		return frames.Rule{}, nil, false
	}
	ra, ok := w.runToJump(q.PC, lo, hi)
	if !ok {
		return frames.Rule{}, nil, false
	}
	end := w.st
	sp := end.regs[s.abi.sp]
	own := sp.kind == startRelative && sp.base == s.abi.sp
	p := w.analysePrologue(q.PC, false, false, span{lo, hi}, span{})
	if !p.found || p.weak || own && !p.st.isForeignSP() || !own && !p.linkRegisterLost(s.abi) {
		return frames.Rule{}, nil, false
	}
	row := &frames.Row{CFAReg: s.abi.dwarf(s.abi.sp), RA: s.placeOf(ra, noReg)}
	if row.RA.Kind == frames.RuleUndefined {
		return frames.Rule{}, nil, false
	}
	for _, reg := range s.abi.calleeSaved {
		row.Regs[s.abi.dwarf(reg)] = s.placeOf(end.regs[reg], reg)
	}
	if own {
		row.CFAOff = int64(sp.off)
	} else {
		row.Regs[s.abi.sp] = s.placeOf(sp, noReg)
	}
	rule := frames.Rule{CFAReg: row.CFAReg, CFAOff: int32(row.CFAOff), Flags: frames.FlagSignal,
		Method: frames.MethodHeuristic}
	return rule, row, true
}

// linkRegisterLost reports whether the initial value of the link register is nowhere.
func (p *prologue) linkRegisterLost(a *abi) bool {
	f, ok := p.finding(a, false, false)
	return a.ra != noReg && !(ok && f.ra.kind != lost)
}

// SwitchesStack implements [frames.StackSwitches].
func (s *Source) SwitchesStack(pc uint64, caller bool) bool {
	q := frames.Query{PC: pc, Caller: caller}
	lo, hi, ok := s.bounds(q.LookupPC(s.opt.Arch))
	if s.abi == nil || s.opt.Code == nil || !ok {
		return false
	}
	w := getInterpreter(s)
	defer putInterpreter(w)
	p := w.analysePrologue(pc, caller, false, span{lo, hi}, span{})
	return p.found && !p.weak && p.st.isForeignSP()
}

// runToJump follows instructions from pc, and forward branches, to a jump by register or a return, and returns the
// target, unless that was on the stack at pc.
func (w *interpreter) runToJump(pc, lo, hi uint64) (value, bool) {
	a, st := w.src.abi, &w.st
	st.reset(a, pc, lo, hi)
	var before [len(st.regs)]value
	join := uint64(0)
	for range maxFrameSwitch {
		code := w.code(st.pc)
		if len(code) == 0 || st.pc >= hi || join != 0 && st.pc > join {
			return value{}, false
		}
		if st.pc == join {
			st.joinRegs(&before)
			join = 0
		}
		if ra, ok := a.switchTarget(st, code); ok && join == 0 {
			onStack := ra.kind == loaded && (ra.base == a.sp || ra.base == a.fp)
			return ra, ra.base < firstUnnamedBase && ra.kind != unknown && ra.kind != constant && !onStack
		}
		f := w.exec(code)
		st.pc += uint64(f.size)
		switch {
		case f.kind == flowCond && join == 0 && int64(f.target) > 0:
			join, before = st.pc+f.target, st.regs
		case f.kind != flowNext:
			return value{}, false
		}
	}
	return value{}, false
}

// joinRegs makes unknown what differs on another path to here.
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
		return sp.base < firstUnnamedBase || sp.base == st.loadedSPBase
	}
	return sp.kind == loaded
}

func (st *symbolicState) noteLoadedSP(reg uint8) {
	if sp := st.regs[st.sp]; reg == st.sp && sp.kind == startRelative && sp.base >= firstUnnamedBase {
		st.loadedSPBase = sp.base
	}
}

func (s *Source) placeOf(v value, reg uint8) frames.RegRule {
	switch {
	case v.isStartValue(reg):
		return frames.RegRule{}
	case v.base >= firstUnnamedBase || v.kind == loaded && v.addend != 0:
	case v.kind == loaded:
		return frames.RegRule{Kind: frames.RuleRegOffset, Reg: s.abi.dwarf(v.base), Off: int64(v.off)}
	case v.kind == startRelative && v.off == 0:
		return frames.RegRule{Kind: frames.RuleReg, Reg: s.abi.dwarf(v.base)}
	}
	return frames.RegRule{Kind: frames.RuleUndefined}
}
