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
