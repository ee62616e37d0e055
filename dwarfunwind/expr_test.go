// SPDX-License-Identifier: Apache-2.0

package dwarfunwind

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/go-delve/delve/pkg/dwarf/op"

	"prywalk/frames"
)

type bigMemory struct{}

func (bigMemory) Word(addr frames.Addr) (uint64, bool) { return addr * 0x9e3779b97f4a7c15, true }
func (bigMemory) Cut(frames.Addr) bool                 { return false }

func testRegs() *frames.Regs {
	r := &frames.Regs{Arch: frames.X86_64, PC: 0x7f0000001008}
	for i := range uint8(16) {
		r.Set(i, 0x1000*uint64(i+1))
	}
	return r
}

func eval(t *testing.T, code []byte, cfa uint64) (uint64, bool) {
	t.Helper()
	e := &expr{code: code, pc: 0x1008, pcColumn: 16, pushCFA: cfa != 0}
	return e.Eval(testRegs(), bigMemory{}, cfa)
}

func TestExpressionsCompute(t *testing.T) {
	minus := func(n uint64) uint64 { return -n }
	mem := func(a uint64) uint64 { v, _ := bigMemory{}.Word(a); return v }
	for _, c := range []struct {
		name string
		code []byte
		want uint64
	}{
		{"literal", []byte{opLit31}, 31},
		{"const1s", []byte{opConst1s, 0xff}, minus(1)},
		{"const2u", []byte{opConst2u, 0xff, 0xff}, 0xffff},
		{"const2s", []byte{opConst2s, 0xfe, 0xff}, minus(2)},
		{"const4u", []byte{opConst4u, 0xff, 0xff, 0xff, 0xff}, 0xffffffff},
		{"const4s", []byte{opConst4s, 0xff, 0xff, 0xff, 0xff}, minus(1)},
		{"const8u", append([]byte{opConst8u}, le(8, 1<<60)...), 1 << 60},
		{"constu", []byte{opConstu, 0x80, 1}, 128},
		{"consts", []byte{opConsts, 0x7f}, minus(1)},
		{"addr follows the bias", append([]byte{opAddr}, le(8, 0x1008)...), 0x7f0000001008},
		{"breg", []byte{opBreg0 + 3, 0x78}, 0x4000 - 8},
		{"bregx", []byte{opBregx, 3, 8}, 0x4008},
		{"pc", []byte{opBregx, 16, 0}, 0x7f0000001008},
		{"deref", []byte{opBreg0 + 3, 0, opDeref}, mem(0x4000)},
		{"deref_size", []byte{opBreg0 + 3, 0, opDerefSize, 2}, mem(0x4000) & 0xffff},
		{"dup, plus", []byte{opLit0 + 4, opDup, opPlus}, 8},
		{"drop", []byte{opLit0 + 4, opLit0 + 5, opDrop}, 4},
		{"over", []byte{opLit0 + 4, opLit0 + 5, opOver}, 4},
		{"pick", []byte{opLit0 + 4, opLit0 + 5, opLit0 + 6, opPick, 2}, 4},
		{"swap", []byte{opLit0 + 4, opLit0 + 5, opSwap, opMinus}, 1},
		{"rot", []byte{opLit0 + 1, opLit0 + 2, opLit0 + 3, opRot, opShl, opShl}, 3 << (1 << 2)},
		{"div is signed", []byte{opConst1s, 0xf8, opLit0 + 2, opDiv}, minus(4)},
		{"mod is not", []byte{opConst1s, 0xff, opLit0 + 16, opMod}, 15},
		{"shra", []byte{opConst1s, 0xf0, opLit0 + 2, opShra}, minus(4)},
		{"shr by 64 and more", []byte{opConst1s, 0xf0, opConst1u, 64, opShr}, 0},
		{"abs", []byte{opConst1s, 0xf0, opAbs}, 16},
		{"comparison is signed", []byte{opConst1s, 0xf0, opLit0 + 2, opLt}, 1},
		{"skip", []byte{opLit0 + 1, opSkip, 1, 0, opLit0 + 9, opNop}, 1},
		{"bra taken", []byte{opLit0 + 7, opLit0 + 1, opBra, 1, 0, opLit0 + 9}, 7},
		{"bra not taken", []byte{opLit0 + 7, opLit0, opBra, 1, 0, opLit0 + 9}, 9},
		{"a loop that ends", []byte{opLit0 + 9, opLit0 + 1, opMinus, opDup, opBra, 0xfa, 0xff}, 0},
	} {
		if got, ok := eval(t, c.code, 0); !ok || got != c.want {
			t.Errorf("%s: %#x %v, want %#x", c.name, got, ok, c.want)
		}
	}
	if got, ok := eval(t, []byte{opPlusUconst, 8}, 0x100); !ok || got != 0x108 {
		t.Errorf("initial CFA on the stack: %#x, %v; want 0x108", got, ok)
	}
}

func TestExpressionsWithoutAValueFail(t *testing.T) {
	for name, code := range map[string][]byte{
		"empty":                 nil,
		"empty stack":           {opPlus},
		"operand cut off":       {opConst8u, 1},
		"division by zero":      {opLit0 + 1, opLit0, opDiv},
		"remainder by zero":     {opLit0 + 1, opLit0, opMod},
		"endless loop":          {opSkip, 0xfd, 0xff},
		"jump out":              {opSkip, 0x7f, 0x7f},
		"jump before the start": {opSkip, 0x00, 0x80},
		"register not known":    {opBregx, 20, 0},
		"register out of range": {opBregx, 0xff, 0x7f, 0},
		"operation not allowed": {0x9c},
		"stack too deep":        {opLit0, opSkip, 0xfc, 0xff},
		"pick beyond the stack": {opLit0, opPick, 1},
		"deref of 9 bytes":      {opLit0, opDerefSize, 9},
	} {
		if v, ok := eval(t, code, 0); ok {
			t.Errorf("%s: value %#x, want none", name, v)
		}
	}
}

func delveEval(code []byte, regs *frames.Regs) (v uint64, ok bool) {
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	list := make([]*op.DwarfRegister, 17)
	for i := range 16 {
		list[i] = op.DwarfRegisterFromUint64(regs.Val[i])
	}
	list[16] = op.DwarfRegisterFromUint64(regs.PC)
	d := op.NewDwarfRegisters(0, list, binary.LittleEndian, 16, 7, 6, 0)
	read := func(buf []byte, addr uint64) (int, error) {
		w, _ := bigMemory{}.Word(addr)
		return copy(buf, le(8, w)), nil
	}
	x, pieces, err := op.ExecuteStackProgram(*d, code, 8, read)
	return uint64(x), err == nil && pieces == nil
}

// Delve's remainder is signed, and its jumps may leave the expression.
func randomCode(r *rand.Rand) []byte {
	ops := []byte{opDup, opDrop, opOver, opSwap, opRot, opAbs, opAnd, opDiv, opMinus, opMul, opNeg, opNot, opOr,
		opPlus, opShl, opShr, opShra, opXor, opEq, opGe, opGt, opLe, opLt, opNe, opDeref, opNop}
	var code []byte
	for range 2 + r.IntN(4) {
		code = append(code, opBreg0+byte(r.IntN(16)), byte(r.IntN(128)))
	}
	for range r.IntN(20) {
		switch r.IntN(4) {
		case 0:
			code = append(code, opLit0+byte(r.IntN(32)))
		case 1:
			code = append(code, opConst1s, byte(r.IntN(256)))
		case 2:
			code = append(code, opPlusUconst, byte(r.IntN(128)))
		}
		code = append(code, ops[r.IntN(len(ops))])
	}
	return code
}

func TestExpressionsAgreeWithDelve(t *testing.T) {
	r, regs, both := rand.New(rand.NewPCG(1, 2)), testRegs(), 0
	for range 20000 {
		code := randomCode(r)
		want, wantOK := delveEval(code, regs)
		got, ok := (&expr{code: code, pcColumn: 16}).Eval(regs, bigMemory{}, 0)
		if ok != wantOK || ok && got != want {
			t.Fatalf("%x: %#x %v, delve has %#x %v", code, got, ok, want, wantOK)
		}
		if ok {
			both++
		}
	}
	if both < 1000 {
		t.Errorf("%d expressions had a value, want 1000", both)
	}
}

func (e linearExpr) value(regs *frames.Regs) uint64 {
	v := uint64(e.off) + regs.Val[e.reg]
	if e.deref {
		v, _ = bigMemory{}.Word(v)
	}
	return v
}

func TestRecognizedExpressionsHaveTheSameValue(t *testing.T) {
	r, regs := rand.New(rand.NewPCG(3, 4)), testRegs()
	table := newBuilder().addCIE().table(t, frames.X86_64)
	const pc, cfa = 0x1008, 0xabc0
	found := map[bool]int{} // by pushCFA: for a register's place, else for the CFA itself
	for i := range 20000 {
		code, pushCFA := randomCode(r), i%2 == 0
		if r.IntN(2) == 0 {
			code = code[:2+r.IntN(len(code)-2)]
		}
		s, ok := table.linearExprOf(code)
		if !ok {
			continue
		}
		found[pushCFA]++
		want, _ := (&expr{code: code, pc: pc, pcColumn: 16, pushCFA: pushCFA}).Eval(regs, bigMemory{}, cfa)
		if got := s.value(regs); got != want {
			t.Fatalf("%x, CFA on the stack %v: recognized as %+v = %#x, want %#x", code, pushCFA, s, got, want)
		}
	}
	if found[true] < 100 || found[false] < 100 {
		t.Errorf("%v expressions were recognized, want 100 of each", found)
	}
}
