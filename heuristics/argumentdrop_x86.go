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
	r, _ := row.Compact(p.src.opt.Arch, frames.MethodHeuristic, 0)
	return r, row, true
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
