// SPDX-License-Identifier: Apache-2.0

package x86

// REXBit reports, of opcode 0x90, whether it is an exchange with another register than rax.
func (i *Inst) REXBit() bool { return i.RM != 0 }

// Low returns the register in the opcode's low bits; RM has its extension.
func (i *Inst) Low() uint8 { return i.Op&7 | i.RM&0x18 }

// Jump returns a jump's target, 0 if indirect; next is the next instruction's address. Not ok for others.
func (i *Inst) Jump(next uint64) (to uint64, ok bool) {
	switch {
	case i.Map == MapOne && (i.Op == 0xe9 || i.Op == 0xeb || i.Op>>4 == 7 || i.Op >= 0xe0 && i.Op <= 0xe3),
		i.Map == Map0F && i.Op>>4 == 8 && !i.VEX:
		return next + uint64(i.Imm), true
	case i.Map == MapOne && i.Op == 0xff && (i.Reg&7 == 4 || i.Reg&7 == 5), i.Map == MapAPX:
		return 0, true
	}
	return 0, false
}
