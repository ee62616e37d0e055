// SPDX-License-Identifier: Apache-2.0

package dwarfunwind

// DWARF 5 §7.7.1, table 7.9, as far as call frame information may use it (§6.4.2).
const (
	opAddr       = 0x03
	opDeref      = 0x06
	opConst1u    = 0x08
	opConst1s    = 0x09
	opConst2u    = 0x0a
	opConst2s    = 0x0b
	opConst4u    = 0x0c
	opConst4s    = 0x0d
	opConst8u    = 0x0e
	opConst8s    = 0x0f
	opConstu     = 0x10
	opConsts     = 0x11
	opDup        = 0x12
	opDrop       = 0x13
	opOver       = 0x14
	opPick       = 0x15
	opSwap       = 0x16
	opRot        = 0x17
	opAbs        = 0x19
	opAnd        = 0x1a
	opDiv        = 0x1b
	opMinus      = 0x1c
	opMod        = 0x1d
	opMul        = 0x1e
	opNeg        = 0x1f
	opNot        = 0x20
	opOr         = 0x21
	opPlus       = 0x22
	opPlusUconst = 0x23
	opShl        = 0x24
	opShr        = 0x25
	opShra       = 0x26
	opXor        = 0x27
	opBra        = 0x28
	opEq         = 0x29
	opGe         = 0x2a
	opGt         = 0x2b
	opLe         = 0x2c
	opLt         = 0x2d
	opNe         = 0x2e
	opSkip       = 0x2f
	opLit0       = 0x30
	opLit31      = 0x4f
	opBreg0      = 0x70
	opBreg31     = 0x8f
	opBregx      = 0x92
	opDerefSize  = 0x94
	opNop        = 0x96
)

// readConstant reads the operand of an operation that pushes a constant; false for other operations.
func (c *cursor) readConstant(op uint8) (uint64, bool) {
	switch {
	case op >= opLit0 && op <= opLit31:
		return uint64(op - opLit0), true
	case op >= opConst1u && op <= opConst8s: // of 1, 2, 4 and 8 bytes, each unsigned and signed
		size := uint8(1) << ((op - opConst1u) / 2)
		x := c.Sized(size)
		if signed := (op-opConst1u)%2 == 1; signed {
			unused := 64 - 8*size
			x = uint64(int64(x<<unused) >> unused)
		}
		return x, true
	case op == opConstu:
		return c.ULEB(), true
	case op == opConsts:
		return uint64(c.SLEB()), true
	}
	return 0, false
}

// readRegPlusOffset reads the operands of an operation that pushes a register plus an offset; false for others.
func (c *cursor) readRegPlusOffset(op uint8) (reg uint64, off int64, ok bool) {
	switch {
	case op >= opBreg0 && op <= opBreg31:
		reg = uint64(op - opBreg0)
	case op == opBregx:
		reg = c.ULEB()
	default:
		return 0, 0, false
	}
	return reg, c.SLEB(), true
}

// binaryOp returns the result for operands a and b (on top); false for other operations, and for a division by zero.
func binaryOp(op uint8, a, b uint64) (uint64, bool) {
	switch op {
	case opAnd:
		return a & b, true
	case opMinus:
		return a - b, true
	case opMul:
		return a * b, true
	case opOr:
		return a | b, true
	case opPlus:
		return a + b, true
	case opShl:
		return a << b, true
	case opShr:
		return a >> b, true
	case opShra:
		return uint64(int64(a) >> b), true
	case opXor:
		return a ^ b, true
	case opDiv:
		if b != 0 {
			return uint64(int64(a) / int64(b)), true
		}
	case opMod:
		if b != 0 {
			return a % b, true
		}
	}
	return compare(op, int64(a), int64(b))
}

// compare compares as signed numbers (DWARF 5 §2.5.1.5); false for other operations.
func compare(op uint8, a, b int64) (result uint64, ok bool) {
	if op < opEq || op > opNe {
		return 0, false
	}
	if [...]bool{a == b, a >= b, a > b, a <= b, a < b, a != b}[op-opEq] {
		result = 1
	}
	return result, true
}

// unaryOp returns false for other operations.
func unaryOp(op uint8, a uint64) (uint64, bool) {
	switch op {
	case opAbs:
		if int64(a) < 0 {
			return -a, true
		}
		return a, true
	case opNeg:
		return -a, true
	case opNot:
		return ^a, true
	}
	return 0, false
}
