// SPDX-License-Identifier: Apache-2.0

package x86

// # Registers that instructions write
//
// Sources: Intel SDM volume 2: opcode maps A-2 (one byte), A-3 (0F), A-4 (0F 38), A-5 (0F 3A), groups A-6 (by
// ModRM.reg). An operand in column E or M is ModRM.rm, one in column G is ModRM.reg.

// Numbers of registers in instructions.
const (
	rax = 0
	rcx = 1
	rdx = 2
	rbx = 3
	rsp = 4
	rbp = 5
	rsi = 6
	rdi = 7
)

// DWARF has the DWARF numbers of registers (System V ABI, figure 3.36).
var DWARF = [16]uint8{0, 2, 1, 3, 7, 6, 4, 5, 8, 9, 10, 11, 12, 13, 14, 15}

// WrittenRegs returns the general registers that an instruction may write, a bit each, without rsp of push, pop, call
// and ret. The set may be too large, never too small, for code outside of the kernel.
func (i *Inst) WrittenRegs() uint32 {
	switch {
	case i.VEX:
		return writtenByVEX(i)
	case i.Map == MapOne:
		return writtenByOneByte(i)
	}
	return writtenByOtherMaps(i)
}

func bit(reg uint8) uint32 { return 1 << (reg & 31) }

func writtenRM(i *Inst) uint32 {
	if i.Mod != 3 {
		return 0
	}
	return bit(i.RM)
}

// byteReg returns the register of a byte operand. Without REX, 4 to 7 are ah, ch, dh and bh, parts of 0 to 3.
func byteReg(i *Inst, reg uint8) uint8 {
	if !i.REX && reg >= 4 && reg < 8 {
		return reg - 4
	}
	return reg
}

func byteRM(i *Inst) uint32 {
	if i.Mod != 3 {
		return 0
	}
	return bit(byteReg(i, i.RM))
}

func writtenByOneByte(i *Inst) uint32 {
	switch op := i.Op; {
	case op < 0x40:
		return writtenByALU(i)
	case op == 0x63, op == 0x69, op == 0x6b, op == 0x8b, op == 0x8d: // movsxd, imul, mov, lea
		return bit(i.Reg)
	case op >= 0x58 && op < 0x60, op >= 0xb8 && op < 0xc0: // pop, mov of a constant
		return bit(i.OpcodeReg())
	case op == 0x8a: // mov
		return bit(byteReg(i, i.Reg))
	case op == 0x86: // xchg, of bytes
		return byteRM(i) | bit(byteReg(i, i.Reg))
	case op == 0x87: // xchg
		return writtenRM(i) | bit(i.Reg)
	case op == 0x88, op == 0xc6, op == 0xc0, op == 0xd0, op == 0xd2: // mov and shifts, of bytes
		return byteRM(i)
	case op == 0x89, op == 0x8c, op == 0x8f, op == 0xc7, op == 0xc1, op == 0xd1, op == 0xd3: // mov, pop, shifts
		return writtenRM(i)
	case op >= 0xb0 && op < 0xb8: // mov of a byte
		return bit(byteReg(i, i.OpcodeReg()))
	}
	return writtenByRest(i)
}

// 00 to 3F: add, or, adc, sbb, and, sub, xor, cmp in rows of eight.
func writtenByALU(i *Inst) uint32 {
	if i.Op>>3 == 7 { // cmp
		return 0
	}
	switch i.Op & 7 {
	case 0:
		return byteRM(i)
	case 1:
		return writtenRM(i)
	case 2:
		return bit(byteReg(i, i.Reg))
	case 3:
		return bit(i.Reg)
	}
	return 1 << rax
}

// Opcodes that depend on ModRM.reg, and those with implicit operands.
func writtenByRest(i *Inst) uint32 {
	switch op := i.Op; {
	case op == 0x80 && i.Reg&7 != 7: // arithmetic with an immediate but cmp
		return byteRM(i)
	case (op == 0x81 || op == 0x83) && i.Reg&7 != 7, op == 0xff: // and inc, dec
		return writtenRM(i)
	case op == 0xfe: // inc, dec
		return byteRM(i)
	case op == 0xf6, op == 0xf7:
		return writtenByUnary(i)
	case op == 0x90 && !i.IsXchg(): // nop
		return 0
	case op >= 0x90 && op < 0x98: // xchg with rax
		return 1<<rax | bit(i.OpcodeReg())
	case op == 0xdf && i.Mod == 3, op == 0x98, op >= 0xa0 && op <= 0xa1, op >= 0xe4 && op <= 0xe5,
		op >= 0xec && op <= 0xed, op == 0xd7, op == 0x9f:
		return 1 << rax // fnstsw, cbw, mov from an address, in, xlat, lahf
	case op == 0x99: // cwd
		return 1 << rdx
	case op == 0xc8, op == 0xc9: // enter, leave
		return 1<<rsp | 1<<rbp
	case op >= 0xe0 && op <= 0xe2: // loop
		return 1 << rcx
	case op == 0xcd: // int 0x80; Linux before 4.17 also changes r8 to r11
		return 1<<rax | 0xf<<8
	case op >= 0xa4 && op <= 0xa7, op >= 0xaa && op <= 0xaf, op >= 0x6c && op <= 0x6f: // string instructions
		return 1<<rax | 1<<rcx | 1<<rsi | 1<<rdi
	}
	return 0
}

// F6 and F7: test (0, 1), not (2), neg (3), mul, imul, div, idiv.
func writtenByUnary(i *Inst) uint32 {
	switch i.Reg & 7 {
	case 2, 3:
		if i.Op == 0xf6 {
			return byteRM(i)
		}
		return writtenRM(i)
	case 0, 1:
		return 0
	}
	return 1<<rax | 1<<rdx
}

func writtenByOtherMaps(i *Inst) uint32 {
	switch i.Map {
	case Map0F:
		return writtenBy0F(i)
	case Map38:
		switch { // movbe, crc32, adcx, adox
		case i.Op == 0xf0, i.Op == 0xf1 && i.Prefix&PrefixF2 != 0, i.Op == 0xf6,
			i.Op == 0xfa, i.Op == 0xfb: // encodekey128, encodekey256
			return bit(i.Reg)
		case i.Op == 0xf8: // urdmsr
			return writtenRM(i)
		}
	case Map3A:
		return writtenBy3A(i)
	}
	return 0
}

func writtenBy3A(i *Inst) uint32 {
	switch {
	case i.Op >= 0x14 && i.Op <= 0x17: // pextr, extractps
		return writtenRM(i)
	case i.Op >= 0x60 && i.Op <= 0x63: // pcmpestr, pcmpistr
		return 1 << rcx
	}
	return 0
}

func writtenBy0F(i *Inst) uint32 {
	switch op := i.Op; {
	case op >= 0x40 && op < 0x50, op == 0xaf, op >= 0xb6 && op <= 0xb8, op >= 0xbc && op <= 0xbf,
		op == 0x02, op == 0x03, op == 0x50, op == 0xd7, op == 0xc5, op == 0xb2, op == 0xb4, op == 0xb5:
		// cmovcc, imul, movzx, popcnt, bsf, bsr, movsx; lar, lsl, movmskps, pmovmskb, pextrw, lss, lfs, lgs
		return bit(i.Reg)
	case (op == 0x2c || op == 0x2d) && i.Prefix&(PrefixF2|PrefixF3) != 0: // cvttss2si, cvtss2si
		return bit(i.Reg)
	case op >= 0x90 && op < 0xa0: // setcc
		return byteRM(i)
	case op == 0xb0: // cmpxchg, of bytes
		return byteRM(i) | 1<<rax
	case op == 0xa4, op == 0xa5, op == 0xac, op == 0xad, op == 0xab, op == 0xb3, op == 0xbb,
		op == 0xba && i.Reg&7 > 4, op == 0x78 && i.Prefix&(Prefix66|PrefixF2) == 0,
		op == 0x7e && i.Prefix&PrefixF3 == 0:
		// shld, shrd, bts, btr, btc, vmread, movd
		return writtenRM(i)
	case op == 0x20, op == 0x21: // mov from control and debug registers, whatever ModRM.mod is
		return bit(i.RM)
	case op == 0xb1: // cmpxchg
		return writtenRM(i) | 1<<rax
	case op == 0xc0: // xadd, of bytes
		return byteRM(i) | bit(byteReg(i, i.Reg))
	case op == 0xc1: // xadd
		return writtenRM(i) | bit(i.Reg)
	case op >= 0xc8 && op < 0xd0: // bswap
		return bit(i.OpcodeReg())
	case op == 0xa2: // cpuid
		return 1<<rax | 1<<rbx | 1<<rcx | 1<<rdx
	case op == 0x05: // syscall
		return 1<<rax | 1<<rcx | 1<<11
	case op == 0x31, op == 0x32, op == 0x33, op == 0x01, op == 0xc7:
		// rdtsc, rdmsr, rdpmc, group 7 (rdtscp, xgetbv), group 9 (cmpxchg8b)
		return 1<<rax | 1<<rcx | 1<<rdx | writtenBySystem(i)
	}
	return writtenBySystem(i)
}

func writtenBySystem(i *Inst) uint32 {
	f3, reg := i.Prefix&PrefixF3 != 0, i.Reg&7
	switch {
	case i.Op == 0x01 && i.Mod == 3 && reg == 0: // pconfig
		return 1<<rax | 1<<rbx | 1<<rcx | 1<<rdx
	case i.Op == 0x00 && reg < 2, i.Op == 0x01 && reg == 4, i.Op == 0xc7 && reg >= 6, // sldt, str, smsw, rdrand, rdpid
		i.Op == 0x1e && f3 && reg == 1, i.Op == 0xae && f3 && reg < 2: // rdssp, rdfsbase, rdgsbase
		return writtenRM(i)
	}
	return 0
}

func writtenByVEX(i *Inst) uint32 {
	switch op := i.Op; i.Map {
	case Map0F, MapFP16:
		switch {
		case op == 0x50, op == 0xd7, op == 0xc5, op == 0x93: // vmovmskps, vpmovmskb, vpextrw, kmov
			return bit(i.Reg)
		case (op&^1 == 0x2c || op&^1 == 0x6c || op&^1 == 0x78) && i.Prefix&(PrefixF2|PrefixF3) != 0:
			return bit(i.Reg)
		case op == 0x7e && i.Prefix&Prefix66 != 0: // vmovd, vmovw
			return writtenRM(i)
		}
	case Map38:
		switch {
		case op == 0xf3: // blsr, blsmsk, blsi
			return bit(i.VVVV)
		case op == 0xf6: // mulx
			return bit(i.Reg) | bit(i.VVVV)
		case op >= 0xf2 && op <= 0xf7, op >= 0xe0 && op < 0xf0: // andn, bzhi, pext, pdep, bextr, shlx, …; cmpccxadd
			return bit(i.Reg)
		}
	case Map3A:
		if op == 0xf0 { // rorx
			return bit(i.Reg)
		}
		return writtenBy3A(i)
	case MapUser: // rdmsr, urdmsr
		return writtenRM(i)
	case MapAPX:
		return writtenByOneByte(i) | bit(i.VVVV) | writtenByPromoted(i)
	}
	return 0
}

// Opcodes that APX has moved from other maps.
func writtenByPromoted(i *Inst) uint32 {
	switch op := i.Op; {
	case op>>4 == 4, op == 0x24, op == 0x2c, op == 0xa5, op == 0xad, op == 0x60, op == 0x61, op == 0x66, op == 0x88,
		op == 0xaf, op == 0xf0, op == 0xf1, op == 0xf4, op == 0xf5:
		// cmovcc, setcc, shld, shrd, movbe, adcx, adox, popcnt, imul, crc32, tzcnt, lzcnt
		return bit(i.Reg) | writtenRM(i)
	}
	return 0
}
