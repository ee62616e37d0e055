// SPDX-License-Identifier: Apache-2.0

package x86

// IsXchg reports whether opcode 0x90 is no nop.
func (i *Inst) IsXchg() bool { return i.RM != 0 }

// OpcodeReg returns the register in the opcode's low bits; RM has its extension.
func (i *Inst) OpcodeReg() uint8 { return i.Op&7 | i.RM&0x18 }
