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
		return writtenAs(writesOne[i.Op], i)
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

// writesOne and writes0F say which registers each opcode writes, as a letter:
//
//   - E, G: ModRM.rm and ModRM.reg; X: both; e, g, x: likewise, of bytes; R: rm whatever ModRM.mod is
//   - O, o: the opcode's register, and of bytes; N: that and rax, unless it is nop
//   - A, C, D: rax, rcx, rdx; L: all three; Q: and rbx; F: rsp and rbp
//   - S: those of string instructions; I: int 0x80's, with r8 to r11 as of Linux before 4.17; Y: syscall's
//   - B, b: arithmetic with an immediate but cmp; U, u: group F6/F7 (test, not, neg, mul, imul, div, idiv)
//   - K, k: cmpxchg; T: fnstsw; t: bit tests but bt; f: conversions to a register; v: vmread; m: movd
//   - *: [writtenBySystem]
const writesOne = "eEgGAAAAeEgGAAAA" + "eEgGAAAAeEgGAAAA" + "eEgGAAAAeEgGAAAA" + "eEgGAAAA........" +
	"................" + "........OOOOOOOO" + "...G.....G.GSSSS" + "................" +
	"bB.B..xXeEgGEG.E" + "NNNNNNNNAD.....A" + "AA..SSSS..SSSSSS" + "ooooooooOOOOOOOO" +
	"eE....eEFF...I.." + "eEeE...A.......T" + "CCC.AA......AA.." + "......uU......eE"

const writes0F = "*LGG.Y.........." + "..............*." + "RR..........ff.." + ".LLL............" +
	"GGGGGGGGGGGGGGGG" + "G..............." + "................" + "........v.....m." +
	"................" + "eeeeeeeeeeeeeeee" + "..Q.EE.....EEE*G" + "kKGEGGGGG.tEGGGG" +
	"xX...G.LOOOOOOOO" + ".......G........" + "................" + "................"

func writtenAs(letter byte, i *Inst) uint32 {
	reg, none := i.Reg&7, false
	switch letter {
	case 'B', 'b':
		none = reg == 7
	case 'U', 'u':
		if none = reg < 2; reg > 3 {
			return 1<<rax | 1<<rdx
		}
	case 'N':
		none = i.Op == 0x90 && !i.IsXchg()
	case 'T':
		none = i.Mod != 3
	case 't':
		none = reg <= 4
	case 'f':
		none = i.Prefix&(PrefixF2|PrefixF3) == 0
	case 'v':
		none = i.Prefix&(Prefix66|PrefixF2) != 0
	case 'm':
		none = i.Prefix&PrefixF3 != 0
	}
	if none {
		return 0
	}
	set := implicitWrites[letter]
	switch letter {
	case 'E', 'B', 'U', 't', 'v', 'm', 'K', 'X':
		set |= writtenRM(i)
	case 'e', 'b', 'u', 'k', 'x':
		if i.Mod == 3 {
			set |= bit(byteReg(i, i.RM))
		}
	case 'R':
		set |= bit(i.RM)
	case 'O', 'N':
		set |= bit(i.OpcodeReg())
	case 'o':
		set |= bit(byteReg(i, i.OpcodeReg()))
	case 'L', '*':
		set |= writtenBySystem(i)
	}
	switch letter {
	case 'G', 'f', 'X':
		set |= bit(i.Reg)
	case 'g', 'x':
		set |= bit(byteReg(i, i.Reg))
	}
	return set
}

var implicitWrites = [128]uint32{
	'A': 1 << rax, 'N': 1 << rax, 'T': 1 << rax, 'K': 1 << rax, 'k': 1 << rax, 'C': 1 << rcx,
	'D': 1 << rdx, 'L': 1<<rax | 1<<rcx | 1<<rdx, 'Q': 1<<rax | 1<<rcx | 1<<rdx | 1<<rbx, 'F': 1<<rsp | 1<<rbp,
	'S': 1<<rax | 1<<rcx | 1<<rsi | 1<<rdi, 'I': 1<<rax | 0xf<<8, 'Y': 1<<rax | 1<<rcx | 1<<11,
}

func writtenByOtherMaps(i *Inst) uint32 {
	switch i.Map {
	case Map0F:
		return writtenAs(writes0F[i.Op], i)
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
		return writtenAs(writesOne[i.Op], i) | bit(i.VVVV) | writtenByPromoted(i)
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
