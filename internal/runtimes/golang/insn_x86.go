// SPDX-License-Identifier: Apache-2.0

package golang

import "prywalk/internal/x86"

type insn x86.Inst

const opRet = 0xc3

// decode decodes one instruction; false for forms that Go's assembler does not write.
func decode(b []byte) (in insn, ok bool) {
	i, ok := x86.Decode(b)
	return insn(i), ok && i.Map <= x86.Map3A && i.Reg|i.RM < 16
}

func (in *insn) opReg() uint8 { return (*x86.Inst)(in).Low() & 15 }

func (in *insn) indexed() bool { return in.Index != x86.NoReg }

func (in *insn) segment() bool { return in.Prefix&x86.PrefixSeg != 0 }

// walkX86 calls f with each instruction and the address after it, until f is false or an instruction is unknown.
func walkX86(pc uint64, code []byte, f func(in *insn, next uint64) bool) {
	for len(code) > 0 {
		in, ok := decode(code)
		if !ok {
			return
		}
		code, pc = code[in.Size:], pc+uint64(in.Size)
		if !f(&in, pc) {
			return
		}
	}
}

// load reports whether in is a mov reg, [base+disp] of 64 bits.
func (in *insn) load() bool {
	return in.Map == 0 && in.Op == 0x8b && in.Mod != 3 && in.W && in.Base != x86.NoReg && !in.indexed() && !in.segment()
}

func (in *insn) movesToSP(reg uint8) bool {
	return in.Map == 0 && in.Mod == 3 && in.W &&
		(in.Op == 0x89 && in.RM == regSP && in.Reg == reg || in.Op == 0x8b && in.Reg == regSP && in.RM == reg)
}
