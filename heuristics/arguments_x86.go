// SPDX-License-Identifier: Apache-2.0

package heuristics

import (
	"prywalk/frames"
	"prywalk/internal/code/x86"
)

// # The drop of arguments
//
// V8's functions pop a number of arguments known only at run time, with the return address in a register. Only behind
// the drop, push and ret are a return:
//
//	leave; pop rcx; lea rsp, [rsp+rbx*8]; push rcx; ret
//	leave; pop rcx; lea rsp, [r15+8]; push rcx; ret

type argDropX86 struct {
	base, index uint8 // DWARF numbers; index may be noReg
	scale       uint8
	disp        int64
}

// Eval returns the CFA: the stack pointer behind the arguments.
func (d argDropX86) Eval(regs *frames.Regs, _ frames.Memory, _ uint64) (uint64, bool) {
	base, knownBase := regs.Get(d.base)
	n, knownIndex := regs.Get(d.index)
	return base + n<<d.scale + uint64(d.disp), knownBase && knownIndex
}

func (p *patterns) argumentDrop(q frames.Query) (frames.Rule, *frames.Row, bool) {
	if p.src.opt.Arch != frames.X86_64 || q.AfterCall || q.SPOnly {
		return frames.Rule{}, nil, false
	}
	code := p.code(q.PC)
	drop, size := decodeDropX86(code)
	if size == 0 && !p.behindDropX86(q.PC) {
		return frames.Rule{}, nil, false
	}
	ra, ok := pushedBeforeReturnX86(code[size:])
	if !ok || size > 0 && (drop.base == ra || drop.index == ra) {
		return frames.Rule{}, nil, false
	}
	row := p.rowOfReturnRegister(ra)
	switch {
	case size == 0:
	case drop.index == noReg:
		row.CFAReg, row.CFAOff = drop.base, drop.disp
	default:
		row.CFAExpr = drop
	}
	r, full := row.Compact(p.src.opt.Arch, frames.MethodHeuristic, 0)
	return r, full, true
}

// rowOfReturnRegister is the row, with CFA = rsp, of code that keeps only the frame pointer and has its return address
// in ra, a DWARF number.
func (p *patterns) rowOfReturnRegister(ra uint8) *frames.Row {
	row := &frames.Row{CFAReg: frames.X86RSP, RA: frames.RegRule{Kind: frames.RuleReg, Reg: ra}}
	for _, reg := range p.abi.calleeSaved {
		if reg != hwBP {
			row.Regs[dwarfX86(reg)] = frames.RegRule{Kind: frames.RuleUndefined}
		}
	}
	return row
}

// pushedBeforeReturnX86 decodes push and ret; false for rsp and rbp. reg is a DWARF number.
func pushedBeforeReturnX86(code []byte) (reg uint8, ok bool) {
	i, ok := x86.Decode(code)
	push := ok && i.Map == x86.MapOne && i.Op&^7 == 0x50 && i.Prefix == 0
	if !push || i.OpcodeReg() == hwSP || i.OpcodeReg() == hwBP {
		return 0, false
	}
	rest := code[i.Size:]
	return dwarfX86(i.OpcodeReg()), len(rest) > 0 && rest[0] == 0xc3
}

func (p *patterns) behindDropX86(pc uint64) bool {
	for size := uint64(3); size <= 5 && size <= pc; size++ {
		if _, n := decodeDropX86(p.code(pc - size)); n == int(size) {
			return true
		}
	}
	return false
}

// decodeDropX86 decodes lea rsp, [rsp+r*s+d], lea rsp, [r+d] and add rsp, r.
func decodeDropX86(code []byte) (d argDropX86, size int) {
	i, ok := x86.Decode(code)
	if !ok || i.Map != x86.MapOne || !i.W || i.Prefix != 0 || code[0]>>4 != 4 { // REX.W is the only prefix
		return d, 0
	}
	setsSP := i.Op == 0x8d && i.Reg == hwSP && i.Mod != 3 // lea
	switch {
	case setsSP && i.Base == hwSP && i.Index != noReg:
		return argDropX86{frames.X86RSP, dwarfX86(i.Index), code[3] >> 6, int64(i.Disp)}, int(i.Size)
	case setsSP && i.Base != noReg && i.Base != hwSP && i.Base != hwBP && i.Index == noReg:
		return argDropX86{base: dwarfX86(i.Base), index: noReg, disp: int64(i.Disp)}, int(i.Size)
	case i.Op == 0x03 && i.Mod == 3 && i.Reg == hwSP:
		return argDropX86{base: frames.X86RSP, index: dwarfX86(i.RM)}, int(i.Size)
	case i.Op == 0x01 && i.Mod == 3 && i.RM == hwSP:
		return argDropX86{base: frames.X86RSP, index: dwarfX86(i.Reg)}, int(i.Size)
	}
	return d, 0
}

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
	r, full := row.Compact(a.src.opt.Arch, frames.MethodHeuristic, 0)
	return r, full, true
}

// raSearch finds the register whose start value is on top of the stack where paths leave the function.
type raSearch struct {
	in     *interpreter
	reg    uint8 // noReg means that no path has left
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
	case f.kind == flowTail, f.kind == flowIndirect, branches && !s.in.st.function.has(f.target):
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
