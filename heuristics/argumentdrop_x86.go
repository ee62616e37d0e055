// SPDX-License-Identifier: Apache-2.0

package heuristics

import (
	"prywalk/frames"
	"prywalk/internal/x86"
)

// # The drop of arguments
//
// V8's functions pop a number of arguments known only at run time, with the return address in a register. Only behind
// the drop, push and ret are a return:
//
//	leave; pop rcx; lea rsp, [rsp+rbx*8]; push rcx; ret

type argDropX86 struct {
	index uint8 // DWARF number
	scale uint8
	disp  int64
}

// Eval returns the CFA: the stack pointer behind the arguments.
func (d argDropX86) Eval(regs *frames.Regs, _ frames.Memory, _ uint64) (uint64, bool) {
	sp, knownSP := regs.Get(frames.X86RSP)
	n, knownIndex := regs.Get(d.index)
	return sp + n<<d.scale + uint64(d.disp), knownSP && knownIndex
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
	if !ok || size > 0 && drop.index == ra {
		return frames.Rule{}, nil, false
	}
	row := &frames.Row{CFAReg: frames.X86RSP, RA: frames.RegRule{Kind: frames.RuleReg, Reg: ra}}
	if size > 0 {
		row.CFAExpr = drop
	}
	for _, reg := range p.abi.calleeSaved {
		if reg != hwBP {
			row.Regs[dwarfX86(reg)] = frames.RegRule{Kind: frames.RuleUndefined}
		}
	}
	r, _ := row.Compact(p.src.opt.Arch, frames.MethodHeuristic, 0)
	return r, row, true
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

// decodeDropX86 decodes lea rsp, [rsp+r*s+d] and add rsp, r.
func decodeDropX86(code []byte) (d argDropX86, size int) {
	i, ok := x86.Decode(code)
	if !ok || i.Map != x86.MapOne || !i.W || i.Prefix != 0 || code[0]>>4 != 4 { // REX.W is the only prefix
		return d, 0
	}
	switch {
	case i.Op == 0x8d && i.Reg == hwSP && i.Mod != 3 && i.Base == hwSP && i.Index != noReg:
		return argDropX86{dwarfX86(i.Index), code[3] >> 6, int64(i.Disp)}, int(i.Size)
	case i.Op == 0x03 && i.Mod == 3 && i.Reg == hwSP:
		return argDropX86{index: dwarfX86(i.RM)}, int(i.Size)
	case i.Op == 0x01 && i.Mod == 3 && i.RM == hwSP:
		return argDropX86{index: dwarfX86(i.Reg)}, int(i.Size)
	}
	return d, 0
}
