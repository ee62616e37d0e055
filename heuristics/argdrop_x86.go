// SPDX-License-Identifier: Apache-2.0

package heuristics

import (
	"prywalk/frames"
	"prywalk/internal/x86"
)

// V8's functions pop a number of arguments known only at run time, with the return address in a register:
//
//	leave; pop rcx; lea rsp, [rsp+rbx*8]; push rcx; ret
//
// Push and return also call functions: they count only behind the drop of arguments.

// argDropX86 is what is added to rsp: a scaled register and a constant.
type argDropX86 struct {
	index uint8 // DWARF number
	scale uint8
	disp  int64
}

// Eval returns the stack pointer behind the arguments, the CFA.
func (d argDropX86) Eval(regs *frames.Regs, _ frames.Memory, _ uint64) (uint64, bool) {
	sp, ok := regs.Get(frames.X86RSP)
	n, known := regs.Get(d.index)
	return sp + n<<d.scale + uint64(d.disp), ok && known
}

func argumentDropX86(w *interpreter, pc uint64) (*frames.Row, bool) {
	code := w.code(pc)
	drop, size := decodeDropX86(code)
	if size == 0 && !w.behindDropX86(pc) {
		return nil, false
	}
	code = code[size:]
	i, ok := x86.Decode(code)
	if !ok || i.VEX || i.Map != x86.MapOne || i.Op&^7 != 0x50 || i.Prefix != 0 || i.Low() == hwSP || i.Low() == hwBP {
		return nil, false
	}
	ra := dwarfX86(i.Low())
	if code = code[i.Size:]; len(code) == 0 || code[0] != 0xc3 || size > 0 && drop.index == ra {
		return nil, false
	}
	row := &frames.Row{CFAReg: frames.X86RSP, RA: frames.RegRule{Kind: frames.RuleReg, Reg: ra}}
	if size > 0 {
		row.CFAExpr = drop
	}
	for _, reg := range w.src.abi.calleeSaved {
		if reg != hwBP {
			row.Regs[dwarfX86(reg)] = frames.RegRule{Kind: frames.RuleUndefined}
		}
	}
	return row, true
}

func (w *interpreter) behindDropX86(pc uint64) bool {
	for size := uint64(3); size <= 5 && size <= pc; size++ {
		if _, n := decodeDropX86(w.code(pc - size)); n == int(size) {
			return true
		}
	}
	return false
}

// decodeDropX86 decodes lea rsp, [rsp+r*s+d] and add rsp, r. size is 0 for other instructions.
func decodeDropX86(code []byte) (d argDropX86, size int) {
	i, ok := x86.Decode(code)
	if !ok || i.VEX || i.Map != x86.MapOne || !i.W || i.Prefix != 0 || code[0]>>4 != 4 { // REX.W is the only prefix
		return d, 0
	}
	switch {
	case i.Op == 0x8d && i.Reg == hwSP && i.Mod != 3 && i.Base == hwSP && i.Index != noReg:
		// the scale is in the upper bits of the SIB byte, behind prefix, opcode and ModRM
		return argDropX86{dwarfX86(i.Index), code[3] >> 6, int64(i.Disp)}, int(i.Size)
	case i.Op == 0x03 && i.Mod == 3 && i.Reg == hwSP:
		return argDropX86{index: dwarfX86(i.RM)}, int(i.Size)
	case i.Op == 0x01 && i.Mod == 3 && i.RM == hwSP:
		return argDropX86{index: dwarfX86(i.Reg)}, int(i.Size)
	}
	return d, 0
}
