// SPDX-License-Identifier: Apache-2.0

package golang

import "prywalk/internal/x86"

// insn is an x86-64 instruction.
type insn x86.Inst

// decode decodes the instruction at the start of b; false where it is cut short or of a form that Go's assembler does
// not write.
func decode(b []byte) (in insn, ok bool) {
	i, ok := x86.Decode(b)
	return insn(i), ok && i.Map <= x86.Map3A && i.Reg|i.RM < 16
}

// opReg gives the register in the low bits of the opcode.
func (in *insn) opReg() uint8 { return (*x86.Inst)(in).Low() & 15 }

// indexed reports whether the address of the memory operand has an index register.
func (in *insn) indexed() bool { return in.Index != x86.NoReg }

// segment reports whether the address is relative to that of a segment.
func (in *insn) segment() bool { return in.Prefix&x86.PrefixSeg != 0 }
