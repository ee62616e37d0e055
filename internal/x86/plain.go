// SPDX-License-Identifier: Apache-2.0

package x86

import "encoding/binary"

// plainSize is how many bytes decodePlain looks at; no instruction that it takes has more than 14.
const plainSize = 16

// decodePlain decodes the instructions that most code is made of: REX at most, an opcode of one
// byte or one after 0F, operands. The bytes are in an array, so that none has to be asked for. False
// leaves the instruction to decoder, with i in disorder.
func decodePlain(b *[plainSize]byte, i *Inst) bool {
	*i = Inst{Base: NoReg, Index: NoReg}
	n := uint(0)
	op := b[0]
	var rexX, rexB uint8
	if op&0xf0 == 0x40 {
		i.REX, i.W = true, op&8 != 0
		i.Reg, rexX, rexB = op&4<<1, op&2<<2, op&1<<3
		op, n = b[1], 1
	}
	n++
	what := opsOne[op]
	switch op {
	case 0x0f:
		op = b[n]
		if n++; op == 0x38 || op == 0x3a {
			return false
		}
		i.Map, what = Map0F, ops0F[op]
	case 0x8f:
		return false // XOP
	}
	i.Op = op
	switch what {
	case 'M', 'm', 'Z', 'G':
		n = i.plainModRM(b, n, rexX, rexB)
	case 'x', 'p', 'o', 'e', 'w':
		return false
	default:
		i.RM, i.Reg = rexB, 0 // the opcode's low bits name a register
	}
	if what == 'G' && i.Reg&7 <= 1 {
		what = 'Z'
		if op&1 == 0 {
			what = 'm'
		}
	}
	size := i.plainImm(b[n&(plainSize-1):], what)
	i.Size = uint8(n + size)
	return size != noImm
}

// noImm: there are not enough bytes.
const noImm = plainSize

// plainImm reads the immediate that the letter says, and gives its size.
func (i *Inst) plainImm(b []byte, what byte) uint {
	size := uint(0)
	switch what {
	case 'b', 'm':
		size = 1
	case 'r', 'z', 'Z':
		size = 4
	case 'v':
		size = 4
		if i.W {
			size = 8
		}
	}
	if uint(len(b)) < size {
		return noImm
	}
	switch size {
	case 1:
		i.Imm = int64(int8(b[0]))
	case 4:
		i.Imm = int64(int32(binary.LittleEndian.Uint32(b)))
	case 8:
		i.Imm = int64(binary.LittleEndian.Uint64(b))
	}
	return size
}

// plainModRM reads ModRM, SIB and displacement at n, and gives where what follows is. i.reg holds the bit of REX.
func (i *Inst) plainModRM(b *[plainSize]byte, n uint, rexX, rexB uint8) uint {
	m := b[n&3]
	n++
	i.HasRM, i.Mod = true, m>>6
	i.Reg |= m >> 3 & 7
	i.RM = m&7 | rexB
	if i.Mod == 3 {
		return n
	}
	i.Base = i.RM
	wide := i.Mod == 2
	switch {
	case m&7 == 4:
		s := b[n&7]
		n++
		if x := s>>3&7 | rexX; x != 4 {
			i.Index = x
		}
		i.Base = s&7 | rexB
		if s&7 == 5 && i.Mod == 0 {
			i.Base, wide = NoReg, true
		}
	case m&0xc7 == 5:
		i.RIPRel, i.Base, wide = true, NoReg, true
	}
	if wide {
		i.Disp = int32(binary.LittleEndian.Uint32(b[n&7:]))
		n += 4
	} else if i.Mod == 1 {
		i.Disp = int32(int8(b[n&7]))
		n++
	}
	return n
}
