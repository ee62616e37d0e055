package heuristics

import "encoding/binary"

// Prefixes of an x86-64 instruction.
const (
	pfx66 = 1 << iota
	pfx67
	pfxF2
	pfxF3
	pfxSeg // FS or GS: the address is not relative to the stack
)

// The opcode maps: one byte, 0F, 0F 38, 0F 3A, and what VEX and EVEX select
// beyond them.
const (
	mapOne = iota
	map0F
	map38
	map3A
	mapAPX
)

// instX86 is a decoded x86-64 instruction: all that the analysis needs.
type instX86 struct {
	size    uint8 // length in bytes
	opmap   uint8
	op      byte
	pfx     uint8
	w       bool // 64-bit operands (REX.W)
	rex     bool // has a REX prefix: spl to dil in place of ah to bh
	vex     bool // VEX, EVEX or XOP
	vvvv    uint8
	hasRM   bool
	mod     uint8
	reg, rm uint8 // extended by REX; rm is a register if mod is 3
	base    uint8 // of the memory operand, noReg if none or relative to rip
	index   uint8
	ripRel  bool
	disp    int32
	imm     int64
}

// opsOne and ops0F tell for each opcode what follows it. M: ModRM; m, Z: ModRM
// and an immediate of 8 or 16/32 bits; G: ModRM, immediate if reg is 0 or 1; b, w,
// z, r, v, o, e: immediates of 8, 16, 16/32, 32, 16/32/64 bits, an address, and
// enter's; p: a prefix or escape; x: invalid. (Intel SDM, tables .)
const opsOne = "MMMMbzxxMMMMbzxp" + "MMMMbzxxMMMMbzxx" + "MMMMbzpxMMMMbzpx" + "MMMMbzpxMMMMbzpx" +
	"pppppppppppppppp" + "................" + "xxpMppppzZbm...." + "bbbbbbbbbbbbbbbb" +
	"mZxmMMMMMMMMMMMM" + "..........x....." + "oooo....bz......" + "bbbbbbbbvvvvvvvv" +
	"mmw.ppmZe.w..bx." + "MMMMxpx.MMMMMMMM" + "bbbbbbbbrrxb...." + "p.pp..GG......MM"

const ops0F = "MMMMx.....x.xM.m" + "MMMMMMMMMMMMMMMM" + "MMMMxxxxMMMMMMMM" + "........pxpxxxxx" +
	"MMMMMMMMMMMMMMMM" + "MMMMMMMMMMMMMMMM" + "MMMMMMMMMMMMMMMM" + "mmmmMMM.MMMMMMMM" +
	"rrrrrrrrrrrrrrrr" + "MMMMMMMMMMMMMMMM" + "...MmMxx...MmMMM" + "MMMMMMMMMMmMMMMM" +
	"MMmMmmmM........" + "MMMMMMMMMMMMMMMM" + "MMMMMMMMMMMMMMMM" + "MMMMMMMMMMMMMMMM"

// decoderX86 reads one instruction. A read beyond the end sets bad.
type decoderX86 struct {
	b    []byte
	pos  int
	bad  bool
	rexR uint8 // 8 or 16 and 8, to be added to a register's number
	rexX uint8
	rexB uint8
	i    instX86
}

// decodeX86 decodes the instruction at the start of b; false if it is not valid,
// or not whole.
func decodeX86(b []byte) (i instX86, ok bool) {
	ok = decodeIntoX86(b, &i)
	return i, ok
}

// decodeIntoX86 is decodeX86 into i.
func decodeIntoX86(b []byte, i *instX86) (ok bool) {
	if len(b) < plainSize || !decodePlainX86((*[plainSize]byte)(b), i) {
		*i, ok = decodeAnyX86(b)
		return ok
	}
	return true
}

// decodeAnyX86 is decodeX86 for all instructions.
func decodeAnyX86(b []byte) (instX86, bool) {
	d := decoderX86{b: b[:min(len(b), 15)]}
	d.i.base, d.i.index = noReg, noReg
	op := d.prefixes()
	what := d.opcode(op)
	d.operands(what)
	d.i.size = uint8(d.pos)
	return d.i, !d.bad
}

func (d *decoderX86) byte() byte {
	if d.pos >= len(d.b) {
		d.bad = true
		return 0
	}
	d.pos++
	return d.b[d.pos-1]
}

// number reads a signed little-endian number of n bytes.
func (d *decoderX86) number(n int) int64 {
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

// prefixes reads legacy prefixes and REX, and gives the byte after them.
func (d *decoderX86) prefixes() byte {
	for !d.bad {
		op := d.byte()
		switch op {
		case 0x66:
			d.i.pfx |= pfx66
		case 0x67:
			d.i.pfx |= pfx67
		case 0xf2:
			d.i.pfx |= pfxF2
		case 0xf3:
			d.i.pfx |= pfxF3
		case 0x64, 0x65:
			d.i.pfx |= pfxSeg
		case 0x26, 0x2e, 0x36, 0x3e, 0xf0:
		default:
			if op&0xf0 != 0x40 {
				return op
			}
			next := d.byte()
			if next&0xf0 == 0x40 || isLegacyPrefix(next) {
				d.pos-- // a REX that is not last has no effect
				continue
			}
			d.setREX(op)
			return next
		}
	}
	return 0
}

func isLegacyPrefix(b byte) bool {
	switch b {
	case 0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65, 0x66, 0x67, 0xf0, 0xf2, 0xf3:
		return true
	}
	return false
}

func (d *decoderX86) setREX(b byte) {
	d.i.rex, d.i.w = true, b&8 != 0
	d.rexR, d.rexX, d.rexB = b&4<<1, b&2<<2, b&1<<3
}

// opcode resolves escapes, sets map and opcode, and gives the letter that tells
// what follows.
func (d *decoderX86) opcode(op byte) byte {
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
		if d.pos < len(d.b) && d.b[d.pos]&0x1f >= 8 {
			return d.xop()
		}
	}
	d.i.op = op
	return opsOne[op]
}

func (d *decoderX86) escape0F() byte {
	d.i.opmap, d.i.op = map0F, d.byte()
	switch d.i.op {
	case 0x38:
		d.i.opmap, d.i.op = map38, d.byte()
		return 'M'
	case 0x3a:
		d.i.opmap, d.i.op = map3A, d.byte()
		return 'm'
	}
	return ops0F[d.i.op]
}

// rex2 is the two-byte prefix of APX.
func (d *decoderX86) rex2() byte {
	p := d.byte()
	d.setREX(p & 0xf)
	d.rexR |= p & 0x40 >> 2
	d.rexX |= p & 0x20 >> 1
	d.rexB |= p & 0x10
	d.i.op = d.byte()
	if p&0x80 != 0 {
		d.i.opmap = map0F
		return ops0F[d.i.op]
	}
	if d.i.op == 0xa1 { // jmpabs
		d.bad = true
	}
	return opsOne[d.i.op]
}

// vex reads the prefix of AVX (SDM volume 2, 2.3.5).
func (d *decoderX86) vex(op byte) byte {
	d.i.vex = true
	m := byte(map0F)
	p := d.byte()
	d.rexR = ^p & 0x80 >> 4
	if op == 0xc4 {
		m = p & 0x1f
		d.rexX, d.rexB = ^p&0x40>>3, ^p&0x20>>2
		p = d.byte()
		d.i.w = p&0x80 != 0
	}
	d.i.vvvv = ^p >> 3 & 0xf
	d.pp(p)
	return d.vexOp(m)
}

// pp sets the prefix that VEX and EVEX hold in two bits.
func (d *decoderX86) pp(p byte) {
	d.i.pfx |= [4]uint8{0, pfx66, pfxF3, pfxF2}[p&3]
}

func (d *decoderX86) vexOp(m byte) byte {
	d.i.op, d.i.opmap = d.byte(), m
	switch m {
	case map0F:
		return ops0F[d.i.op]
	case map38, 5, 6:
		return 'M'
	case map3A:
		return 'm'
	case mapAPX:
		return opsOne[d.i.op]
	case 7:
		return 'Z'
	}
	return 'x'
}

// evex reads the prefix of AVX-512 and of APX (SDM volume 2, 2.7.1).
func (d *decoderX86) evex() byte {
	d.i.vex = true
	p0, p1 := d.byte(), d.byte()
	d.byte()
	d.rexR, d.rexX, d.rexB = ^p0&0x80>>4, ^p0&0x40>>3, ^p0&0x20>>2
	d.i.w = p1&0x80 != 0
	d.i.vvvv = ^p1 >> 3 & 0xf
	d.pp(p1)
	return d.vexOp(p0 & 7)
}

// xop reads AMD's prefix, which nothing but old AMD processors know.
func (d *decoderX86) xop() byte {
	d.i.vex = true
	m := d.byte() & 0x1f
	d.byte()
	d.i.op, d.i.opmap = d.byte(), m
	switch m {
	case 8:
		return 'm'
	case 9:
		return 'M'
	case 10:
		return 'Z'
	}
	return 'x'
}

// operands reads what the letter says.
func (d *decoderX86) operands(what byte) {
	switch what {
	case 'M', 'm', 'Z', 'G':
		d.modRM()
	case 'x', 'p':
		d.bad = true
	default:
		d.i.rm = d.rexB // the opcode's low bits name a register
	}
	switch what {
	case 'b', 'm':
		d.i.imm = d.number(1)
	case 'w':
		d.i.imm = d.number(2)
	case 'r':
		d.i.imm = d.number(4)
	case 'z', 'Z':
		d.i.imm = d.number(d.immSize())
	case 'v':
		d.immV()
	case 'e':
		d.i.imm = d.number(2)&0xffff | d.number(1)<<16
	case 'o':
		d.number(8 - 4*int(d.i.pfx&pfx67/pfx67))
	case 'G':
		d.immGroup()
	}
}

func (d *decoderX86) immSize() int {
	if d.i.pfx&pfx66 != 0 && !d.i.w && !d.i.vex {
		return 2
	}
	return 4
}

func (d *decoderX86) immV() {
	n := d.immSize()
	if d.i.w {
		n = 8
	}
	d.i.imm = d.number(n)
}

// immGroup: of the group F6/F7 only test has an immediate.
func (d *decoderX86) immGroup() {
	if d.i.reg&7 > 1 {
		return
	}
	if d.i.op&1 == 0 {
		d.i.imm = d.number(1)
	} else {
		d.i.imm = d.number(d.immSize())
	}
}

// modRM reads ModRM, SIB and displacement.
func (d *decoderX86) modRM() {
	b := d.byte()
	i := &d.i
	i.hasRM, i.mod = true, b>>6
	i.reg, i.rm = b>>3&7|d.rexR, b&7|d.rexB
	if i.mod == 3 {
		return
	}
	i.base = i.rm
	if b&7 == 4 {
		d.sib()
	} else if b&0xc7 == 5 {
		i.ripRel, i.base = true, noReg
		i.disp = int32(d.number(4))
		return
	}
	switch i.mod {
	case 1:
		i.disp = int32(d.number(1))
	case 2:
		i.disp = int32(d.number(4))
	}
}

func (d *decoderX86) sib() {
	b := d.byte()
	i := &d.i
	if x := b>>3&7 | d.rexX; x != 4 {
		i.index = x
	}
	i.base = b&7 | d.rexB
	if b&7 == 5 && i.mod == 0 {
		i.base = noReg
		i.disp = int32(d.number(4))
	}
}
