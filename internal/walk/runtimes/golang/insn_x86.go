// SPDX-License-Identifier: Apache-2.0

package golang

import "prywalk/internal/code/x86"

type insn x86.Inst

// Numbers of registers in instructions.
const (
	regSP = 4
	regBP = 5
)

// Opcodes of one byte (Intel SDM volume 2, table A-2).
const (
	opStore         = 0x89 // mov r/m, reg
	opLoad          = 0x8b // mov reg, r/m
	opLEA           = 0x8d
	opPushFlags     = 0x9c
	opPopFlags      = 0x9d
	opRet           = 0xc3
	opMoveImmediate = 0xc7 // mov r/m, imm
	opCall          = 0xe8
	opGroup5        = 0xff // inc, dec, call, jmp or push r/m
)

// decode is false for forms that Go's assembler does not write.
func decode(b []byte) (in insn, ok bool) {
	i, ok := x86.Decode(b)
	return insn(i), ok && i.Map <= x86.Map3A && i.Reg|i.RM < 16
}

func (in *insn) opReg() uint8 { return (*x86.Inst)(in).OpcodeReg() & 15 }

func (in *insn) indexed() bool { return in.Index != x86.NoReg }

func (in *insn) segment() bool { return in.Prefix&x86.PrefixSeg != 0 }

func (in *insn) isCall() bool {
	return in.Map == 0 && (in.Op == opCall || in.Op == opGroup5 && in.Reg&7 == 2)
}

func (in *insn) onStack() bool {
	return in.HasRM && in.Mod != 3 && in.Base == regSP && !in.indexed()
}

func (in *insn) hasRegisterOperand() bool { return in.HasRM && in.Mod == 3 }

// addsImmediate matches add and sub of a register and a constant.
func (in *insn) addsImmediate() (n int64, ok bool) {
	ok = in.Map == 0 && (in.Op == 0x81 || in.Op == 0x83) && in.hasRegisterOperand()
	switch in.Reg & 7 {
	case 0: // add
		return in.Imm, ok
	case 5: // sub
		return -in.Imm, ok
	}
	return 0, false
}

func (in *insn) zeroes() bool {
	return in.Map == 0 && (in.Op == 0x31 || in.Op == 0x33) && in.hasRegisterOperand() && in.Reg == in.RM
}

// isStop matches ret, int, hlt, ud2, and indirect jumps.
func (in *insn) isStop() bool {
	switch {
	case in.Map == 1 && !in.VEX:
		return in.Op == 0x0b // ud2
	case in.Map != 0:
		return false
	}
	switch in.Op {
	case opRet, 0xc2, 0xcc, 0xcd, 0xf4: // ret, ret imm16, int3, int, hlt
		return true
	}
	return in.Op == opGroup5 && in.Reg&7 == 4 // jmp r/m
}

func (in *insn) isConditionalJump() bool {
	switch in.Map {
	case 0:
		return in.Op&^0xf == 0x70 || in.Op&^3 == 0xe0 // jcc rel8; loop, jrcxz
	case 1:
		return in.Op&^0xf == 0x80 && !in.VEX // jcc rel32
	}
	return false
}

func (in *insn) successors() (continues, jumps bool) {
	switch {
	case in.isStop():
		return false, false
	case in.Map == 0 && (in.Op == 0xe9 || in.Op == 0xeb): // jmp
		return false, true
	}
	return true, in.isConditionalJump()
}

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

// load matches mov reg, [base+disp] of 64 bits.
func (in *insn) load() bool {
	return in.Map == 0 && in.Op == opLoad && in.Mod != 3 && in.W && in.Base != x86.NoReg && !in.indexed() && !in.segment()
}

// movesToSP matches mov rsp, reg of 64 bits.
func (in *insn) movesToSP(reg uint8) bool {
	return in.Map == 0 && in.W && in.hasRegisterOperand() &&
		(in.Op == opStore && in.Reg == reg && in.RM == regSP || in.Op == opLoad && in.Reg == regSP && in.RM == reg)
}

// writesMemory reports whether an instruction may write its operand in memory.
func (in *insn) writesMemory() bool {
	switch operation := in.Reg & 7; {
	case !in.HasRM || in.Mod == 3:
		return false
	case in.Map != 0 || in.VEX:
		return in.Map != 1 || in.Op != 0x10 // movups load
	case in.Op < 0x40: // arithmetic but cmp
		return in.Op&7 < 2 && in.Op < 0x38
	case in.Op == 0x80, in.Op == 0x81, in.Op == 0x83:
		return operation != 7 // cmp
	case in.Op == 0xf6, in.Op == 0xf7:
		return operation == 2 || operation == 3 // not, neg
	}
	switch in.Op {
	case 0x63, 0x69, 0x6b, 0x84, 0x85, 0x8a, opLoad, opLEA: // movsxd, imul, test, mov
		return false
	}
	return true
}
