// SPDX-License-Identifier: Apache-2.0

package fixedframe

import (
	"slices"
	"testing"

	"prywalk/frames"
)

// add rsp, …; ret
var pypyLeaves = []byte{0x48, 0x81, 0xc4, pypyFrame, 0, 0, 0, 0xc3}

func pypyCode() []byte {
	return slices.Concat(pypyPrologue, []byte{0x48, 0x89, 0xfd}, // mov rbp, rdi
		[]byte{0x48, 0x89, 0x5c, 0x24, 0x68, 0x4c, 0x89, 0x64, 0x24, 0x70, // mov [rsp + 104], rbx …
			0x4c, 0x89, 0x6c, 0x24, 0x78, 0x4c, 0x89, 0xb4, 0x24, 0x80, 0, 0, 0, 0x4c, 0x89, 0xbc, 0x24, 0x88, 0, 0, 0,
			0x90, 0x90}, pypyLeaves)
}

func pypyStack(before, ret uint64) stack {
	s := make(stack, before+100)
	s[before+pypySelf/8], s[before+pypyKind/8] = stackAt+8*before, pypyJIT
	for i := range uint64(6) { // rbp, rbx, r12, …
		s[before+12+i] = 0x100 + i
	}
	s[before+pypyFrame/8] = ret
	return s
}

const (
	pypyRoutineAt = madeAt + 0x800
	pypyBack      = madeAt + 0x700
	pypyFarBack   = madeAt + 0x740
)

func newPyPyProcess() *Runtime {
	f := newFake()
	f.code(madeAt, pypyCode()...)
	f.code(pypyRoutineAt, 0x90, 0xc3)
	f.code(pypyFarBack-3, 0x41, 0xff, 0xd3) // call r11
	o := f.process(calls{entryRet: 0, pypyBack: pypyRoutineAt, pypyFarBack: 0})
	r := New(PyPy, o.mods[0], o)
	r.update(o)
	return r
}

func TestFramesOfPyPyProveThemselves(t *testing.T) {
	const body = madeAt + 0x400
	wrongKind := pypyStack(0, entryRet)
	wrongKind[pypyKind/8] = 2
	routine := func(ret uint64, pushed uint64) stack {
		s := pypyStack(pushed+1, entryRet)
		s[pushed] = ret
		return s
	}
	for what, c := range map[string]struct {
		pc  uint64
		s   stack
		cfa uint64
	}{
		"body":                           {body, pypyStack(0, entryRet), stackAt + 192},
		"called from compiled code":      {body, pypyStack(0, pypyBack), stackAt + 192},
		"words were pushed":              {body, pypyStack(3, entryRet), stackAt + 24 + 192},
		"no call":                        {body, pypyStack(0, libAt), 0},
		"another kind of frame":          {body, wrongKind, 0},
		"too far":                        {body, pypyStack(maxPyPyWords+1, entryRet), 0},
		"routine":                        {pypyRoutineAt, routine(pypyBack, 3), stackAt + 32},
		"routine, called by a register":  {pypyRoutineAt, routine(pypyFarBack, 1), stackAt + 16},
		"not that routine":               {body, routine(pypyBack, 3), 0},
		"too much for such a routine":    {pypyRoutineAt, routine(pypyFarBack, 2), 0},
		"other frames may lie between":   {body, routine(entryRet, 3), 0},
		"routine's return":               {pypyRoutineAt + 1, append(stack{pypyBack}, pypyStack(0, 0)...), stackAt + 8},
		"before the frame is made":       {madeAt, stack{entryRet}, stackAt + 8},
		"while the frame is made":        {madeAt + 7, append(make(stack, 23), entryRet), 0},
		"at the return, without a frame": {madeAt + uint64(len(pypyCode())) - 1, stack{entryRet}, stackAt + 8},
	} {
		r := newPyPyProcess()
		regs := at(0, nil)
		regs.PC = c.pc
		cfa, _, ok := prove(r.Early, regs, c.s, c.pc)
		if ok != (c.cfa != 0) || ok && cfa != c.cfa {
			t.Errorf("%s: the CFA is %#x, %v, want %#x", what, cfa, ok, c.cfa)
		}
	}
	regs := at(0, nil)
	regs.PC = body
	_, row, _ := newPyPyProcess().Early.Rule(frames.Query{PC: body})
	if _, unread, _ := row.CFAExpr.(frames.CFAFinder).FindCFA(regs, make(stack, 10), body); unread != stackAt+pypySelf {
		t.Errorf("a stack that was not copied: %#x is said to lack", unread)
	}
}

// A frame of an earlier call may still be there.
func TestPyPysEntryHasNoRuleUntilItsRegistersAreSaved(t *testing.T) {
	r, s := newPyPyProcess(), pypyStack(0, entryRet)
	for pc := range len(pypyCode()) - 1 {
		regs := at(0, nil)
		regs.PC = madeAt + uint64(pc)
		if cfa, _, ok := prove(r.Early, regs, s, regs.PC); pc > 0 && ok {
			t.Errorf("at %d: the CFA is %#x", pc, cfa)
		}
	}
}

func TestRegistersOfAPyPyFrameAreThoseThatItSaved(t *testing.T) {
	r, s, regs := newPyPyProcess(), pypyStack(0, entryRet), at(0, nil)
	regs.PC = madeAt + 0x400
	cfa, row, ok := prove(r.Early, regs, s, regs.PC)
	for i, reg := range []uint8{frames.X86RBP, frames.X86RBX, frames.X86R12, frames.X86R13, frames.X86R14, frames.X86R15} {
		if v, known := row.Regs[reg].Expr.Eval(regs, s, cfa); !ok || !known || v != 0x100+uint64(i) {
			t.Errorf("register %d was %#x, %v, want %#x", reg, v, known, 0x100+i)
		}
	}
}
