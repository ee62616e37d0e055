package golang

import "encoding/binary"

// insn is an x86-64 instruction, decoded as far as following the stack needs.
type insn struct {
	size   int
	opmap  uint8 // 0: one byte, 1: 0F, 2: 0F 38, 3: 0F 3A
	vector bool  // VEX or EVEX
	op     uint8
	rexW   bool
	fs     bool // fs segment prefix
	hasRM  bool
	mod    uint8
	reg    uint8 // with REX.R
	rm     uint8 // with REX.B; the base register, or a register when mod is 3
	index  bool  // a scaled index register
	ripRel bool
	noBase bool
	disp   int32
	imm    int64
	opReg  uint8 // low bits of the opcode with REX.B
}

// oneByteRM and twoByteRM list the opcodes that have a ModRM byte, a bit each.
var oneByteRM, twoByteRM = func() (a, b [256]bool) {
	for op := range 256 {
		a[op] = op < 0x40 && op&7 < 4 || op == 0x63 || op == 0x69 || op == 0x6b || op >= 0x80 && op < 0x90 ||
			op == 0xc0 || op == 0xc1 || op == 0xc6 || op == 0xc7 || op >= 0xd0 && op < 0xd4 ||
			op >= 0xd8 && op < 0xe0 || op == 0xf6 || op == 0xf7 || op >= 0xfe
		b[op] = !(op >= 0x05 && op <= 0x0b || op >= 0x30 && op <= 0x37 || op == 0x77 || op >= 0x80 && op < 0x90 ||
			op >= 0xa0 && op <= 0xa2 || op >= 0xa8 && op <= 0xaa || op >= 0xc8 && op < 0xd0)
	}
	return a, b
}()

// decode decodes the instruction at the start of b; false where it is cut short
// or of a form that Go's assembler does not write.
func decode(b []byte) (in insn, ok bool) {
	c := cursor{b: b}
	var rex uint8
	var opsize bool
	op := c.u8()
	for ; op == 0x66 || op == 0xf2 || op == 0xf3 || op == 0xf0 || op == 0x64 || op == 0x65 || op == 0x2e; op = c.u8() {
		opsize = opsize || op == 0x66
		in.fs = in.fs || op == 0x64
		if len(c.b) == 0 {
			return in, false
		}
	}
	if op&0xf0 == 0x40 {
		rex, op = op, c.u8()
	}
	switch op {
	case 0x0f:
		in.opmap, op = 1, c.u8()
		if op == 0x38 || op == 0x3a {
			in.opmap, op = 2+op>>1&1, c.u8()
		}
	case 0xc4, 0xc5, 0x62:
		in.vector = true
		in.opmap, op = c.vex(op)
	}
	in.op, in.rexW = op, rex&8 != 0
	in.opReg = op&7 | rex&1<<3
	if in.hasRM = in.modRM(); in.hasRM {
		c.modRM(&in, rex)
	}
	c.imm(&in, opsize)
	in.size = len(b) - len(c.b)
	return in, !c.short && (!in.vector || in.opmap >= 1 && in.opmap <= 3)
}

// modRM reports whether a ModRM byte follows.
func (in *insn) modRM() bool {
	switch in.opmap {
	case 0:
		return oneByteRM[in.op]
	case 1:
		return twoByteRM[in.op]
	}
	return true
}

// cursor reads bytes and remembers having run out of them.
type cursor struct {
	b     []byte
	short bool
}

func (c *cursor) u8() uint8 { return uint8(c.take(1)) }

// take reads a little-endian number of n bytes, n at most 8.
func (c *cursor) take(n int) uint64 {
	if len(c.b) < n {
		c.short, c.b = true, nil
		return 0
	}
	var w [8]byte
	copy(w[:], c.b[:n])
	c.b = c.b[n:]
	return binary.LittleEndian.Uint64(w[:])
}

// vex reads what follows a VEX or EVEX escape and gives opcode map and opcode.
func (c *cursor) vex(escape uint8) (opmap, op uint8) {
	p := c.u8()
	switch escape {
	case 0xc5:
		return 1, c.u8()
	case 0xc4:
		c.u8()
		return p & 0x1f, c.u8()
	}
	c.take(2)
	return p & 7, c.u8()
}

// modRM reads the ModRM byte, the SIB byte and the displacement.
func (c *cursor) modRM(in *insn, rex uint8) {
	m := c.u8()
	in.mod, in.reg, in.rm = m>>6, m>>3&7|rex&4<<1, m&7
	if in.mod == 3 {
		in.rm |= rex & 1 << 3
		return
	}
	disp := [3]int{0, 1, 4}[in.mod]
	switch {
	case in.rm == 4:
		sib := c.u8()
		in.index = sib>>3&7|rex&2<<2 != 4
		in.rm = sib & 7
		if in.rm == 5 && in.mod == 0 {
			in.noBase, disp = true, 4
		}
	case in.rm == 5 && in.mod == 0:
		in.ripRel, disp = true, 4
	}
	in.rm |= rex & 1 << 3
	switch disp {
	case 1:
		in.disp = int32(int8(c.u8()))
	case 4:
		in.disp = int32(c.take(4))
	}
}

// imm reads the immediate operand.
func (c *cursor) imm(in *insn, opsize bool) {
	switch n := in.immSize(opsize); n {
	case 1:
		in.imm = int64(int8(c.u8()))
	case 2:
		in.imm = int64(int16(c.take(2)))
	case 4:
		in.imm = int64(int32(c.take(4)))
	default:
		in.imm = int64(c.take(n))
	}
}

// immSize gives the size of the immediate operand in bytes.
func (in *insn) immSize(opsize bool) int {
	z := 4
	if opsize {
		z = 2
	}
	op := in.op
	switch in.opmap {
	case 1:
		switch {
		case op >= 0x80 && op < 0x90 && !in.vector:
			return 4
		case op >= 0x70 && op <= 0x73, op == 0xa4, op == 0xac, op == 0xba, op == 0xc2, op >= 0xc4 && op <= 0xc6:
			return 1
		}
		return 0
	case 2:
		return 0
	case 3:
		return 1
	}
	switch {
	case op < 0x40 && op&7 == 4, op == 0x6a, op == 0x6b, op >= 0x70 && op < 0x81, op == 0x82, op == 0x83, op == 0xa8,
		op >= 0xb0 && op < 0xb8, op == 0xc0, op == 0xc1, op == 0xc6, op == 0xcd, op >= 0xe0 && op < 0xe8, op == 0xeb,
		op == 0xf6 && in.reg&7 < 2:
		return 1
	case op < 0x40 && op&7 == 5, op == 0x68, op == 0x69, op == 0x81, op == 0xa9, op == 0xc7, op == 0xf7 && in.reg&7 < 2:
		return z
	case op >= 0xb8 && op < 0xc0:
		if in.rexW {
			return 8
		}
		return z
	case op == 0xe8, op == 0xe9:
		return 4
	case op == 0xc2:
		return 2
	case op == 0xc8:
		return 3
	case op >= 0xa0 && op < 0xa4:
		return 8
	}
	return 0
}
