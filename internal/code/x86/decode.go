// SPDX-License-Identifier: Apache-2.0

package x86

import "encoding/binary"

// NoReg is the number of an operand's absent register.
const NoReg = 0xff

// The prefixes, a bit each.
const (
	Prefix66 = 1 << iota
	Prefix67
	PrefixF2
	PrefixF3
	PrefixSeg // FS or GS
	PrefixFS
)

// The opcode maps.
const (
	MapOne = iota // never with VEX
	Map0F
	Map38
	Map3A
	MapAPX
	MapFP16
	MapUser = 7 // urdmsr, uwrmsr
)

// Inst is a decoded instruction.
type Inst struct {
	Size    uint8 // in bytes
	Map     uint8 // opcode map
	Op      byte
	Prefix  uint8
	W       bool  // 64-bit operands (REX.W)
	REX     bool  // spl to dil in place of ah to bh
	VEX     bool  // VEX or EVEX
	VVVV    uint8 // register of VEX and EVEX, in place of or beside Reg
	HasRM   bool  // ModRM is present
	Mod     uint8
	Reg, RM uint8 // extended by REX; RM is a register if Mod is 3
	Base    uint8 // of the memory operand; NoReg if none or relative to rip
	Index   uint8 // likewise
	RIPRel  bool
	Disp    int32
	Imm     int64
}

// IsXchg reports whether opcode 0x90 is no nop.
func (i *Inst) IsXchg() bool { return i.RM != 0 }

// OpcodeReg returns the register in the opcode's low bits; RM has its extension.
func (i *Inst) OpcodeReg() uint8 { return i.Op&7 | i.RM&0x18 }

// opsOne and ops0F have the layout of each opcode's operands, as a letter (Intel SDM, tables ):
//
//   - M: ModRM; m, Z: ModRM and an immediate of 8 or 16/32 bits; G: ModRM, immediate if reg is 0 or 1
//   - b, w, z, r, v: immediates of 8, 16, 16/32, 32, 16/32/64 bits; o: an address; e: enter's
//   - p: a prefix or escape; x: invalid; s: ModRM and two immediates of 8 bits (SSE4a)
const opsOne = "MMMMbzxxMMMMbzxp" + "MMMMbzxxMMMMbzxx" + "MMMMbzpxMMMMbzpx" + "MMMMbzpxMMMMbzpx" +
	"pppppppppppppppp" + "................" + "xxpMppppzZbm...." + "bbbbbbbbbbbbbbbb" +
	"mZxmMMMMMMMMMMMM" + "..........x....." + "oooo....bz......" + "bbbbbbbbvvvvvvvv" +
	"mmw.ppmZe.w..bx." + "MMMMxpx.MMMMMMMM" + "bbbbbbbbrrxb...." + "p.pp..GG......MM"

const ops0F = "MMMMx.....x.xM.m" + "MMMMMMMMMMMMMMMM" + "MMMMxxxxMMMMMMMM" + "........pxpxxxxx" +
	"MMMMMMMMMMMMMMMM" + "MMMMMMMMMMMMMMMM" + "MMMMMMMMMMMMMMMM" + "mmmmMMM.MMMMMMMM" +
	"rrrrrrrrrrrrrrrr" + "MMMMMMMMMMMMMMMM" + "...MmMxx...MmMMM" + "MMMMMMMMMMmMMMMM" +
	"MMmMmmmM........" + "MMMMMMMMMMMMMMMM" + "MMMMMMMMMMMMMMMM" + "MMMMMMMMMMMMMMMM"

type decoder struct {
	b    []byte
	pos  int
	bad  bool
	rexR uint8 // 8 or 16 and 8, to be added to a register's number
	rexX uint8
	rexB uint8
	i    Inst
}

// Decode decodes the first instruction of b; false if it is invalid or cut.
func Decode(b []byte) (Inst, bool) {
	d := decoder{b: b[:min(len(b), 15)]}
	d.i.Base, d.i.Index = NoReg, NoReg
	op := d.prefixes()
	layout := d.opcode(op)
	d.operands(layout)
	d.i.Size = uint8(d.pos)
	return d.i, !d.bad
}

func (d *decoder) byte() byte {
	if d.pos >= len(d.b) {
		d.bad = true
		return 0
	}
	d.pos++
	return d.b[d.pos-1]
}

// number reads a signed little-endian number of n bytes.
func (d *decoder) number(n int) int64 {
	if len(d.b)-d.pos < n {
		d.bad = true
		return 0
	}
	b := d.b[d.pos:]
	d.pos += n
	switch n {
	case 1:
		return int64(int8(b[0]))
	case 2:
		return int64(int16(binary.LittleEndian.Uint16(b)))
	case 4:
		return int64(int32(binary.LittleEndian.Uint32(b)))
	}
	return int64(binary.LittleEndian.Uint64(b))
}

const prefixOther = 1 << 7 // without a meaning for 64-bit code, or LOCK

var legacyPrefixes = [256]uint8{
	0x66: Prefix66, 0x67: Prefix67, 0xf2: PrefixF2, 0xf3: PrefixF3, 0x64: PrefixSeg | PrefixFS, 0x65: PrefixSeg,
	0x26: prefixOther, 0x2e: prefixOther, 0x36: prefixOther, 0x3e: prefixOther, 0xf0: prefixOther,
}

// prefixes also returns the byte after the prefixes.
func (d *decoder) prefixes() byte {
	for !d.bad {
		op := d.byte()
		if p := legacyPrefixes[op]; p != 0 {
			d.i.Prefix |= p &^ prefixOther
			continue
		}
		if op&0xf0 != 0x40 {
			return op
		}
		next := d.byte()
		if next&0xf0 != 0x40 && legacyPrefixes[next] == 0 {
			d.setREX(op)
			return next
		}
		d.pos-- // a REX that is not last has no effect
	}
	return 0
}

func (d *decoder) setREX(b byte) {
	d.i.REX, d.i.W = true, b&8 != 0
	d.rexR, d.rexX, d.rexB = b&4<<1, b&2<<2, b&1<<3
}

// opcode resolves escapes, and returns the layout of the operands.
func (d *decoder) opcode(op byte) byte {
	switch op {
	case 0x0f:
		return d.escape0F()
	case 0xc4, 0xc5:
		return d.vex(op)
	case 0x62:
		return d.evex()
	case 0xd5:
		return d.rex2()
	case 0x8f:
		if d.pos < len(d.b) && d.b[d.pos]&0x1f >= 8 { // XOP, of AMD's processors up to 2017
			d.bad = true
		}
	}
	d.i.Op = op
	return opsOne[op]
}

func (d *decoder) escape0F() byte {
	d.i.Map, d.i.Op = Map0F, d.byte()
	switch d.i.Op {
	case 0x38:
		d.i.Map, d.i.Op = Map38, d.byte()
		return 'M'
	case 0x3a:
		d.i.Map, d.i.Op = Map3A, d.byte()
		return 'm'
	}
	if d.i.Op == 0x78 && d.i.Prefix&(Prefix66|PrefixF2) != 0 {
		return 's'
	}
	return ops0F[d.i.Op]
}

// APX.
func (d *decoder) rex2() byte {
	p := d.byte()
	d.setREX(p & 0xf)
	d.rexR |= p & 0x40 >> 2
	d.rexX |= p & 0x20 >> 1
	d.rexB |= p & 0x10
	d.i.Op = d.byte()
	if p&0x80 != 0 {
		d.i.Map = Map0F
		return ops0F[d.i.Op]
	}
	if d.i.Op == 0xa1 { // jmpabs
		d.bad = true
	}
	return opsOne[d.i.Op]
}

// AVX (SDM volume 2, 2.3.5).
func (d *decoder) vex(op byte) byte {
	d.i.VEX = true
	if op == 0xc4 {
		return d.vexOp(d.vex3(0x1f))
	}
	p := d.byte()
	d.rexR = ^p & 0x80 >> 4
	d.i.VVVV = ^p >> 3 & 0xf
	d.setPrefix(p)
	return d.vexOp(Map0F)
}

// vex3 reads the two bytes behind the first of VEX's long form and of EVEX. It returns the opcode map.
func (d *decoder) vex3(mapBits byte) byte {
	p := d.byte()
	d.rexR, d.rexX, d.rexB = ^p&0x80>>4, ^p&0x40>>3, ^p&0x20>>2
	m := p & mapBits
	p = d.byte()
	d.i.W = p&0x80 != 0
	d.i.VVVV = ^p >> 3 & 0xf
	d.setPrefix(p)
	return m
}

// p has the two bits of VEX and EVEX.
func (d *decoder) setPrefix(p byte) {
	d.i.Prefix |= [4]uint8{0, Prefix66, PrefixF3, PrefixF2}[p&3]
}

func (d *decoder) vexOp(opcodeMap byte) byte {
	d.i.Op, d.i.Map = d.byte(), opcodeMap
	switch opcodeMap {
	case Map0F:
		return ops0F[d.i.Op]
	case Map38, MapFP16, 6:
		return 'M'
	case Map3A:
		return 'm'
	case MapAPX:
		return apxOp(d.i.Op)
	case MapUser:
		return 'Z'
	}
	return 'x'
}

// apxOp is opsOne with the opcodes that APX has moved from other maps.
func apxOp(op byte) byte {
	switch {
	case op == 0x24, op == 0x2c: // shld, shrd by a constant
		return 'm'
	case op>>4 == 4, op == 0x60, op == 0x61, op == 0x66, op == 0xa5, op == 0xad, op == 0xaf, op >= 0xf0 && op < 0xf6,
		op >= 0xf8:
		return 'M'
	}
	return opsOne[op]
}

// AVX-512 and APX (SDM volume 2, 2.7.1).
func (d *decoder) evex() byte {
	d.i.VEX, d.i.REX = true, true
	m := d.vex3(7)
	d.byte()
	return d.vexOp(m)
}

func (d *decoder) operands(layout byte) {
	switch layout {
	case 'M', 'm', 'Z', 'G', 's':
		d.modRM()
	case 'x', 'p':
		d.bad = true
	default:
		d.i.RM = d.rexB // the opcode's low bits name a register
	}
	switch layout {
	case 'b', 'm':
		d.i.Imm = d.number(1)
	case 'w', 's':
		d.i.Imm = d.number(2)
	case 'r':
		d.i.Imm = d.number(4)
	case 'z', 'Z':
		d.i.Imm = d.number(d.immSize())
	case 'v':
		n := d.immSize()
		if d.i.W {
			n = 8
		}
		d.i.Imm = d.number(n)
	case 'e':
		d.i.Imm = d.number(2)&0xffff | d.number(1)<<16
	case 'o':
		n := 8
		if d.i.Prefix&Prefix67 != 0 {
			n = 4
		}
		d.number(n)
	case 'G':
		d.immGroup()
	}
}

func (d *decoder) immSize() int {
	if d.i.Prefix&Prefix66 != 0 && !d.i.W {
		return 2
	}
	return 4
}

// Only test has the immediate of group F6/F7.
func (d *decoder) immGroup() {
	if d.i.Reg&7 > 1 {
		return
	}
	n := 1
	if d.i.Op&1 != 0 {
		n = d.immSize()
	}
	d.i.Imm = d.number(n)
}

func (d *decoder) modRM() {
	b := d.byte()
	i := &d.i
	i.HasRM, i.Mod = true, b>>6
	i.Reg, i.RM = b>>3&7|d.rexR, b&7|d.rexB
	if i.Mod == 3 {
		return
	}
	i.Base = i.RM
	if b&7 == 4 {
		d.sib()
	} else if b&0xc7 == 5 {
		i.RIPRel, i.Base = true, NoReg
		i.Disp = int32(d.number(4))
		return
	}
	switch i.Mod {
	case 1:
		i.Disp = int32(d.number(1))
	case 2:
		i.Disp = int32(d.number(4))
	}
}

func (d *decoder) sib() {
	b := d.byte()
	i := &d.i
	if x := b>>3&7 | d.rexX; x != 4 {
		i.Index = x
	}
	i.Base = b&7 | d.rexB
	if b&7 == 5 && i.Mod == 0 {
		i.Base = NoReg
		i.Disp = int32(d.number(4))
	}
}
