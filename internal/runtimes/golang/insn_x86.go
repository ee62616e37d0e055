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

// walkX86 calls f with each instruction and the address after it, until f is false or one is unknown.
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

// written returns the general registers that an instruction writes, and whether it writes its operand in memory. Left
// out are rsp of push and pop, and what a call changes. With VEX none is assumed.
func (in *insn) written() (regs uint16, memory bool) {
	const rax, rcx, rdx, rsi, rdi = 1 << 0, 1 << 1, 1 << 2, 1 << 6, 1 << 7
	reg, opReg, rm := uint16(1)<<(in.Reg&15), uint16(1)<<in.opReg(), uint16(0)
	if in.HasRM && in.Mod == 3 {
		rm = 1 << (in.RM & 15)
	}
	memory = in.HasRM && in.Mod != 3
	if in.Map != 0 || in.VEX {
		if r, ok := in.writesOther(); ok {
			regs = 1 << (r & 15)
		}
		return regs, memory && !(in.Map == 1 && in.Op == 0x10) // movups load
	}
	switch op := in.Op; {
	case op >= 0x38 && op < 0x3e, op == 0x84, op == 0x85, op == 0xa8, op == 0xa9,
		(op == 0x80 || op == 0x81 || op == 0x83) && in.Reg&7 == 7, (op == 0xf6 || op == 0xf7) && in.Reg&7 < 2: // cmp, test
		return 0, false
	case op < 0x40 && op&7 < 6: // add, or, adc, sbb, and, sub, xor
		switch {
		case !in.HasRM:
			return rax, false
		case op&2 != 0:
			return reg, false
		}
		return rm, memory
	case op == 0x63, op == 0x69, op == 0x6b, op == 0x8a, op == 0x8b, op == 0x8d: // movsxd, imul, mov, lea
		return reg, false
	case op == 0x86, op == 0x87: // xchg
		return reg | rm, memory
	case op > 0x90 && op < 0x98: // xchg rax, reg
		return rax | opReg, false
	case op == 0x98, op == 0x99, (op == 0xf6 || op == 0xf7) && in.Reg&7 >= 4: // cbw, cdq; mul, imul, div, idiv
		return rax | rdx, false
	case op >= 0xa4 && op < 0xa8, op >= 0xaa && op < 0xb0: // movs, cmps, stos, lods, scas
		return rax | rcx | rsi | rdi, false
	case op >= 0x58 && op < 0x60, op >= 0xb8 && op < 0xc0: // pop; mov reg, imm
		return opReg, false
	case op >= 0xb0 && op < 0xb8: // mov r8, imm8: numbers 4 to 7 can be ah to bh
		return 0xf | opReg&^(1<<regSP|1<<regBP), false
	case op >= 0xd8 && op < 0xe0: // x87
		return 0, memory
	}
	return rm, memory
}

// writesOther returns the general register that an opcode of another map writes; with VEX none is assumed.
func (in *insn) writesOther() (uint8, bool) {
	switch {
	case in.Map == 1 && !in.VEX:
		switch op := in.Op; {
		case op >= 0x40 && op < 0x50, op == 0xaf, op >= 0xb6 && op <= 0xb8, op >= 0xbc && op <= 0xbf,
			op == 0x2c, op == 0x2d, op == 0x50, op == 0xd7, op == 0xc5:
			// cmovcc, imul, movzx, popcnt, bsf, bsr, movsx; cvttss2si, cvtss2si, movmskps, pmovmskb, pextrw
			return in.Reg, true
		case op == 0x7e, op >= 0x90 && op < 0xa0, op == 0xb0, op == 0xb1, op == 0xc0, op == 0xc1, op == 0xa4, op == 0xa5,
			op == 0xac, op == 0xad, op == 0xab, op == 0xb3, op == 0xba, op == 0xbb:
			// movd, setcc, cmpxchg, xadd, shld, shrd, bts, btr, btc
			return in.RM, in.Mod == 3
		case op >= 0xc8 && op < 0xd0: // bswap
			return in.opReg(), true
		}
		return 0, false
	case in.VEX:
		return 0, false
	}
	return in.Reg, in.Map == 2 && in.Op >= 0xf0 // movbe, crc32
}
