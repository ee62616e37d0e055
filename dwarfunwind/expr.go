// SPDX-License-Identifier: Apache-2.0

package dwarfunwind

import (
	"prywalk/frames"
	"prywalk/internal/wire"
)

const (
	exprStack = 64 // entries
	// maxSteps bounds the operations of one evaluation, as branches can loop.
	maxSteps = 4096
)

// expr is a DWARF expression (DWARF 5 §2.5).
type expr struct {
	code     []byte
	pc       uint64 // rule's address in the file
	pcColumn uint64
	pushCFA  bool // the stack begins with the CFA (§6.4.2.3)
}

type evaluator struct {
	cursor
	*expr
	regs  *frames.Regs
	mem   frames.Memory
	n     int // entries of stack
	stack [exprStack]uint64
}

// Eval implements [frames.Expr].
func (e *expr) Eval(regs *frames.Regs, mem frames.Memory, cfa uint64) (uint64, bool) {
	v := evaluator{cursor: cursor{wire.Cursor{Bytes: e.code}}, expr: e, regs: regs, mem: mem}
	if e.pushCFA {
		v.push(cfa)
	}
	for range maxSteps {
		if v.Pos >= len(v.Bytes) {
			return v.stack[max(v.n-1, 0)], v.n > 0
		}
		if !v.step(v.U8()) || v.Bad {
			return 0, false
		}
	}
	return 0, false
}

func (v *evaluator) push(x uint64) bool {
	if v.n >= exprStack {
		return false
	}
	v.stack[v.n] = x
	v.n++
	return true
}

// step executes one operation; false if it is unknown or cannot be done. An operand may be missing ([cursor].Bad).
func (v *evaluator) step(op uint8) bool {
	if x, ok := v.readConstant(op); ok {
		return v.push(x)
	}
	if reg, off, ok := v.readRegPlusOffset(op); ok {
		x, ok := v.register(reg)
		return ok && v.push(x+uint64(off))
	}
	switch op {
	case opNop:
		return true
	case opAddr:
		// relocated as the code is, by the difference of the two pcs
		return v.push(v.U64() + v.regs.PC - v.pc)
	case opSkip:
		return v.jump(int16(v.U16()))
	}
	return v.execStackOp(op)
}

func (v *evaluator) register(reg uint64) (uint64, bool) {
	if reg == v.pcColumn {
		return v.regs.PC, true
	}
	if reg >= frames.NumRegs {
		return 0, false
	}
	return v.regs.Get(uint8(reg))
}

func (v *evaluator) jump(d int16) bool {
	to := v.Pos + int(d)
	if to < 0 || to > len(v.Bytes) {
		return false
	}
	v.Pos = to
	return true
}

func (v *evaluator) execStackOp(op uint8) bool {
	if v.n < 1 {
		return false
	}
	top := &v.stack[v.n-1]
	if x, ok := unaryOp(op, *top); ok {
		*top = x
		return true
	}
	switch op {
	case opDup:
		return v.push(*top)
	case opDrop:
		v.n--
		return true
	case opPick:
		return v.pick(int(v.U8()))
	case opPlusUconst:
		*top += v.ULEB()
		return true
	case opDeref:
		return v.deref(8)
	case opDerefSize:
		return v.deref(v.U8())
	case opBra:
		d := int16(v.U16())
		v.n--
		return *top == 0 || v.jump(d)
	}
	return v.execBinaryOp(op)
}

func (v *evaluator) execBinaryOp(op uint8) bool {
	if v.n < 2 {
		return false
	}
	s := v.stack[:v.n]
	a, b := &s[v.n-2], &s[v.n-1]
	switch op {
	case opOver:
		return v.pick(1)
	case opSwap:
		*a, *b = *b, *a
		return true
	case opRot:
		if v.n < 3 {
			return false
		}
		c := &s[v.n-3]
		*c, *a, *b = *b, *c, *a
		return true
	}
	x, ok := binaryOp(op, *a, *b)
	*a = x
	v.n--
	return ok
}

func (v *evaluator) pick(i int) bool {
	return i < v.n && v.push(v.stack[v.n-1-i])
}

func (v *evaluator) deref(size uint8) bool {
	if size < 1 || size > 8 {
		return false
	}
	top := &v.stack[v.n-1]
	x, ok := v.mem.Word(*top)
	*top = x & (^uint64(0) >> (64 - 8*uint(size)))
	return ok
}
