// SPDX-License-Identifier: Apache-2.0

package golang

import "prywalk/internal/x86"

type insn x86.Inst

// Opcodes of one byte (Intel SDM volume 2, table A-2).
const (
	opStore          = 0x89 // mov r/m, reg
	opLoad           = 0x8b // mov reg, r/m
	opLEA            = 0x8d
	opPushFlags      = 0x9c
	opPopFlags       = 0x9d
	opRet            = 0xc3
	opMoveImmediate  = 0xc7 // mov r/m, imm
	opCall           = 0xe8
	opClearDirection = 0xfc
	opGroup5         = 0xff // inc, dec, call, jmp or push r/m
)

// decode is false for forms that Go's assembler does not write.
func decode(b []byte) (in insn, ok bool) {
	i, ok := x86.Decode(b)
	return insn(i), ok && i.Map <= x86.Map3A && i.Reg|i.RM < 16
}

func (in *insn) opReg() uint8 { return (*x86.Inst)(in).OpcodeReg() & 15 }

func (in *insn) indexed() bool { return in.Index != x86.NoReg }

func (in *insn) segment() bool { return in.Prefix&x86.PrefixSeg != 0 }

func (in *insn) isPush() bool { return in.Map == 0 && in.Op&^7 == 0x50 }

func (in *insn) isPop() bool { return in.Map == 0 && in.Op&^7 == 0x58 }

func (in *insn) isPushImmediate() bool { return in.Map == 0 && (in.Op == 0x68 || in.Op == 0x6a) }

func (in *insn) isReturn() bool { return in.Map == 0 && in.Op == opRet }

func (in *insn) isCall() bool {
	return in.Map == 0 && (in.Op == opCall || in.Op == opGroup5 && in.Reg&7 == 2)
}

func (in *insn) isIndirectTransfer() bool {
	return in.Map == 0 && in.Op == opGroup5 && in.Reg&7 >= 2 && in.Reg&7 < 6
}

func (in *insn) onStack() bool { return in.inMemoryAt(regSP) }

func (in *insn) inMemoryAt(base uint8) bool {
	return in.HasRM && in.Mod != 3 && in.Base == base && !in.indexed()
}

func (in *insn) hasRegisterOperand() bool { return in.HasRM && in.Mod == 3 }

// moves matches mov to, from.
func (in *insn) moves(from, to uint8) bool {
	return in.Map == 0 && in.hasRegisterOperand() &&
		(in.Op == opStore && in.Reg == from && in.RM == to || in.Op == opLoad && in.Reg == to && in.RM == from)
}

func (in *insn) copiesSP() (to uint8, ok bool) {
	switch {
	case in.Map != 0 || !in.W || !in.hasRegisterOperand():
		return 0, false
	case in.Op == opStore && in.Reg == regSP:
		return in.RM, true
	case in.Op == opLoad && in.RM == regSP:
		return in.Reg, true
	}
	return 0, false
}

func (in *insn) addsToSP() (n int32, ok bool) {
	if in.RM != regSP || !in.hasRegisterOperand() {
		return 0, false
	}
	switch in.immediateOperation() {
	case operationAdd:
		return int32(in.Imm), true
	case operationSub:
		return -int32(in.Imm), true
	}
	return 0, false
}

const (
	operationAdd  = 0
	operationSub  = 5
	operationNone = 0xff // another opcode
)

func (in *insn) immediateOperation() uint8 {
	if in.Map == 0 && (in.Op == 0x81 || in.Op == 0x83) {
		return in.Reg & 7
	}
	return operationNone
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

func (in *insn) isJump() bool { return in.Map == 0 && (in.Op == 0xe9 || in.Op == 0xeb) }

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
	case in.isJump():
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
func (in *insn) movesToSP(reg uint8) bool { return in.W && in.moves(reg, regSP) }

// writeSet has operands, and registers of fixed numbers, a bit each in the lowest byte.
type writeSet uint16

const (
	writesRAX     writeSet = 1 << 0
	writesRDX     writeSet = 1 << 2
	writesString  writeSet = 1<<0 | 1<<1 | 1<<6 | 1<<7 // rax, rcx, rsi, rdi
	writesRM      writeSet = 1 << 8                    // operand of ModRM
	writesMemory  writeSet = 1 << 9                    // operand of ModRM, if in memory
	writesReg     writeSet = 1 << 10                   // register of ModRM
	writesOpReg   writeSet = 1 << 11                   // register in the opcode
	writesByteReg writeSet = 1 << 12                   // numbers 4 to 7 can be ah to bh
	writesNothing writeSet = 0
)

var opcodeWrites = func() (t [256]writeSet) {
	for op := range t {
		t[op] = writesRM
	}
	for op := 0; op < 0x38; op += 8 { // add, or, adc, sbb, and, sub, xor
		t[op+2], t[op+3], t[op+4], t[op+5] = writesReg, writesReg, writesRAX, writesRAX
	}
	for _, r := range []struct {
		first, last int
		writes      writeSet
	}{
		{0x38, 0x3d, writesNothing}, // cmp
		{0x58, 0x5f, writesOpReg},   // pop
		{0x63, 0x63, writesReg},     // movsxd
		{0x69, 0x69, writesReg},     // imul
		{0x6b, 0x6b, writesReg},
		{0x84, 0x85, writesNothing},           // test
		{0x86, 0x87, writesReg | writesRM},    // xchg
		{0x8a, 0x8b, writesReg},               // mov
		{0x8d, 0x8d, writesReg},               // lea
		{0x91, 0x97, writesRAX | writesOpReg}, // xchg rax, reg
		{0x98, 0x99, writesRAX | writesRDX},   // cbw, cdq
		{0xa4, 0xa7, writesString},            // movs, cmps
		{0xa8, 0xa9, writesNothing},           // test
		{0xaa, 0xaf, writesString},            // stos, lods, scas
		{0xb0, 0xb7, writesByteReg},           // mov r8, imm8
		{0xb8, 0xbf, writesOpReg},             // mov reg, imm
		{0xd8, 0xdf, writesMemory},            // x87
	} {
		for op := r.first; op <= r.last; op++ {
			t[op] = r.writes
		}
	}
	return t
}()

// writes returns what an instruction of the first map writes, by opcode; in groups ModRM's register decides, too.
func (in *insn) writes() writeSet {
	switch operation := in.Reg & 7; in.Op {
	case 0x80, 0x81, 0x83:
		if operation == 7 { // cmp
			return writesNothing
		}
	case 0xf6, 0xf7:
		switch {
		case operation < 2: // test
			return writesNothing
		case operation >= 4: // mul, imul, div, idiv
			return writesRAX | writesRDX
		}
	}
	return opcodeWrites[in.Op]
}

// written returns the general registers that an instruction writes, and whether it writes its operand in memory. It
// excludes rsp of push and pop, and what a call changes. With VEX it assumes no register.
func (in *insn) written() (regs uint16, memory bool) {
	memory = in.HasRM && in.Mod != 3
	if in.Map != 0 || in.VEX {
		if r, ok := in.writesOther(); ok {
			regs = 1 << (r & 15)
		}
		return regs, memory && !(in.Map == 1 && in.Op == 0x10) // movups load
	}
	w := in.writes()
	regs = uint16(w & 0xff)
	if w&writesReg != 0 {
		regs |= 1 << (in.Reg & 15)
	}
	if w&writesOpReg != 0 {
		regs |= 1 << in.opReg()
	}
	if w&writesByteReg != 0 {
		regs |= 0xf | 1<<in.opReg()&^(1<<regSP|1<<regBP)
	}
	if w&writesRM != 0 && in.hasRegisterOperand() {
		regs |= 1 << (in.RM & 15)
	}
	return regs, memory && w&(writesRM|writesMemory) != 0
}

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
