// SPDX-License-Identifier: Apache-2.0

package dwarfunwind

import (
	"prywalk/frames"
	"prywalk/internal/base/wire"
)

const (
	exprStack = 64 // entries
	// Branches can loop.
	maxSteps = 4096
)

// expr is a DWARF expression (DWARF 5 §2.5).
type expr struct {
	code     []byte
	pc       uint64 // rule's address in the file
	pcColumn uint64
	pushCFA  bool // DWARF 5 §6.4.2.3
}

// at returns the expression of a rule at pc.
func (e *expr) at(pc uint64) *expr {
	own := *e
	own.pc = pc
	return &own
}

type evaluator struct {
	cursor cursor
	expr   *expr
	regs   *frames.Regs
	mem    frames.Memory
	n      int // of stack
	stack  [exprStack]uint64
}

// Eval implements [frames.Expr].
func (e *expr) Eval(regs *frames.Regs, mem frames.Memory, cfa uint64) (uint64, bool) {
	v := evaluator{cursor: cursor{wire.Cursor{Bytes: e.code}}, expr: e, regs: regs, mem: mem}
	if e.pushCFA {
		v.push(cfa)
	}
	for range maxSteps {
		if v.cursor.Pos >= len(v.cursor.Bytes) {
			return v.stack[max(v.n-1, 0)], v.n > 0
		}
		if !v.step(v.cursor.U8()) || v.cursor.Bad {
			return 0, false
		}
	}
	return 0, false
}

// push returns false if the stack is full.
func (e *evaluator) push(x uint64) bool {
	if e.n >= exprStack {
		return false
	}
	e.stack[e.n] = x
	e.n++
	return true
}

// step executes one operation. It does not check that its operands are there ([cursor].Bad).
func (e *evaluator) step(op uint8) bool {
	if x, ok := e.cursor.readConstant(op); ok {
		return e.push(x)
	}
	if reg, off, ok := e.cursor.readRegPlusOffset(op); ok {
		x, ok := e.register(reg)
		return ok && e.push(x+uint64(off))
	}
	switch op {
	case opNop:
		return true
	case opAddr:
		// relocated as the code is, by the difference of the two pcs
		return e.push(e.cursor.U64() + e.regs.PC - e.expr.pc)
	case opSkip:
		return e.jump(int16(e.cursor.U16()))
	}
	return e.execStackOp(op)
}

// register returns false if the register is unknown.
func (e *evaluator) register(reg uint64) (uint64, bool) {
	if reg == e.expr.pcColumn {
		return e.regs.PC, true
	}
	if reg >= frames.NumRegs {
		return 0, false
	}
	return e.regs.Get(uint8(reg))
}

func (e *evaluator) jump(d int16) bool {
	to := e.cursor.Pos + int(d)
	if to < 0 || to > len(e.cursor.Bytes) {
		return false
	}
	e.cursor.Pos = to
	return true
}

// execStackOp executes an operation with operands on the stack; false if it is unknown or invalid.
func (e *evaluator) execStackOp(op uint8) bool {
	if e.n < 1 {
		return false
	}
	top := &e.stack[e.n-1]
	if x, ok := unaryOp(op, *top); ok {
		*top = x
		return true
	}
	switch op {
	case opDup:
		return e.push(*top)
	case opDrop:
		e.n--
		return true
	case opPick:
		return e.pick(int(e.cursor.U8()))
	case opPlusUconst:
		*top += e.cursor.ULEB()
		return true
	case opDeref:
		return e.deref(8)
	case opDerefSize:
		return e.deref(e.cursor.U8())
	case opBra:
		d := int16(e.cursor.U16())
		e.n--
		return *top == 0 || e.jump(d)
	}
	return e.execBinaryOp(op)
}

func (e *evaluator) execBinaryOp(op uint8) bool {
	if e.n < 2 {
		return false
	}
	s := e.stack[:e.n]
	a, b := &s[e.n-2], &s[e.n-1]
	switch op {
	case opOver:
		return e.pick(1)
	case opSwap:
		*a, *b = *b, *a
		return true
	case opRot:
		if e.n < 3 {
			return false
		}
		c := &s[e.n-3]
		*c, *a, *b = *b, *c, *a
		return true
	}
	x, ok := binaryOp(op, *a, *b)
	*a = x
	e.n--
	return ok
}

func (e *evaluator) pick(i int) bool {
	return i < e.n && e.push(e.stack[e.n-1-i])
}

func (e *evaluator) deref(size uint8) bool {
	if size < 1 || size > 8 {
		return false
	}
	top := &e.stack[e.n-1]
	x, ok := e.mem.Word(*top)
	*top = x & (^uint64(0) >> (64 - 8*uint(size)))
	return ok
}
