// SPDX-License-Identifier: Apache-2.0

package dwarfunwind

import (
	"prywalk/frames"
	"prywalk/internal/wire"
)

type symKind uint8

const (
	symConst symKind = iota
	symReg
	symCFA
	symPC // of which only the low bits are known
)

// symbol is base + off, or with deref the word there. With symPC, off is the whole value, as a file address.
type symbol struct {
	off   int64
	kind  symKind
	reg   uint8
	deref bool
}

// lowBits are the bits of an address that no load bias changes.
const lowBits = 1<<12 - 1

// recogniser runs an expression on symbols in place of numbers.
type recogniser struct {
	cursor
	pc       uint64
	pcColumn uint64
	n        int
	stack    [8]symbol
}

// recognise returns what an expression computes, if that is a base plus a constant, or the word there.
func (t *Table) recognise(code []byte, pc uint64, pushCFA bool) (symbol, bool) {
	r := recogniser{cursor: cursor{wire.Cursor{Bytes: code}}, pc: pc, pcColumn: t.target.pc}
	if pushCFA {
		r.push(symbol{kind: symCFA})
	}
	for r.Pos < len(r.Bytes) {
		if !r.step(r.U8()) || r.Bad {
			return symbol{}, false
		}
	}
	if r.n == 0 {
		return symbol{}, false
	}
	return r.stack[r.n-1], true
}

func (r *recogniser) push(s symbol) bool {
	if r.n >= len(r.stack) {
		return false
	}
	r.stack[r.n] = s
	r.n++
	return true
}

func (r *recogniser) step(op uint8) bool {
	if x, ok := r.constant(op); ok {
		return r.push(symbol{off: int64(x)})
	}
	if reg, off, ok := r.based(op); ok {
		return r.base(reg, off)
	}
	if op == opNop {
		return true
	}
	if r.n < 1 {
		return false
	}
	top := &r.stack[r.n-1]
	switch op {
	case opDeref:
		ok := !top.deref && (top.kind == symReg || top.kind == symCFA)
		top.deref = true
		return ok
	case opPlusUconst:
		top.off += int64(r.ULEB())
		return !top.deref
	}
	if r.n < 2 {
		return false
	}
	r.n--
	s, ok := combine(op, r.stack[r.n-1], r.stack[r.n])
	r.stack[r.n-1] = s
	return ok
}

func (r *recogniser) base(reg uint64, off int64) bool {
	switch {
	case reg == r.pcColumn:
		return r.push(symbol{kind: symPC, off: int64(r.pc) + off})
	case reg < frames.NumRegs:
		return r.push(symbol{kind: symReg, reg: uint8(reg), off: off})
	}
	return false
}

// combine computes a binary operation, with b on top; false if the result is no symbol.
func combine(op uint8, a, b symbol) (symbol, bool) {
	if op == opPlus && a.kind == symConst {
		a, b = b, a
	}
	switch {
	case a.deref || b.kind != symConst:
		return symbol{}, false
	case a.kind == symConst:
		x, ok := binaryOp(op, uint64(a.off), uint64(b.off))
		return symbol{off: int64(x)}, ok
	case a.kind == symPC && op == opAnd:
		return symbol{off: a.off & b.off}, b.off&^lowBits == 0
	case op == opPlus:
		a.off += b.off
		return a, true
	case op == opMinus:
		a.off -= b.off
		return a, true
	}
	return symbol{}, false
}
