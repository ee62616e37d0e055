// SPDX-License-Identifier: Apache-2.0

package heuristics

import "prywalk/frames"

// # The push of arguments
//
// V8's builtins push a number of arguments known only at run time, with the return address in a register:
//
//	pop r11; loop: …; push [rbx+r9*8+15]; jmp loop; …; push r11; jmp rcx
//
// Callers restore by the frame pointer, as the stack pointer at the call is unknown.

// argumentPush returns the rule if at each end of the paths from pc the return address is on top of the stack, and was
// in the same caller-saved register at pc.
func (a *analysis) argumentPush(q frames.Query) (frames.Rule, *frames.Row, bool) {
	if a.src.opt.Arch != frames.X86_64 || q.AfterCall || q.SPOnly || !a.savesFPOnly(q) {
		return frames.Rule{}, nil, false
	}
	fn, known := a.src.boundsOf(q)
	if !known {
		return frames.Rule{}, nil, false
	}
	a.begin(q.PC, fn)
	s := raSearch{in: &a.interpreter, reg: noReg}
	a.runPaths(&s)
	allFollowed := a.steps < a.limit && !a.pending.dropped
	if s.failed || s.reg == noReg || !allFollowed {
		return frames.Rule{}, nil, false
	}
	row := a.rowOfReturnRegister(dwarfX86(s.reg))
	row.Regs[frames.X86RSP] = frames.RegRule{Kind: frames.RuleUndefined}
	r, _ := row.Compact(a.src.opt.Arch, frames.MethodHeuristic, 0)
	return r, row, true
}

// raSearch finds the register whose start value is on top of the stack where paths leave the function.
type raSearch struct {
	in     *interpreter
	reg    uint8 // noReg: no path has left
	failed bool
}

func (s *raSearch) arrive() bool         { return s.in.visit() }
func (s *raSearch) done() bool           { return s.failed }
func (s *raSearch) needsPostponed() bool { return false }

func (s *raSearch) follow(f *flow) bool {
	branches := f.kind == flowCond || f.kind == flowJump
	switch {
	case f.kind == flowCall || f.kind == flowReturn:
		s.failed = true
	case f.kind == flowTail, f.kind == flowIndirect, branches && !s.in.st.has(f.target):
		s.leave()
		return f.kind == flowCond
	default:
		return s.in.goOn(f)
	}
	return false
}

func (s *raSearch) leave() {
	st := &s.in.st
	top := st.load(st.regs[hwSP])
	held := top.kind == startRelative && top.off == 0 && top.base < firstUnnamedBase && scratchX86>>top.base&1 != 0
	if !held || s.reg != noReg && s.reg != top.base || !st.regs[hwBP].isStartValue(hwBP) {
		s.failed = true
		return
	}
	s.reg = top.base
}
