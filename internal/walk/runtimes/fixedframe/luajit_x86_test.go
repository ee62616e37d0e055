// SPDX-License-Identifier: Apache-2.0

package fixedframe

import (
	"slices"
	"testing"

	"prywalk/frames"
)

const (
	luaRet      = libAt + 0x100
	luaDispatch = heapAt + 0x1000
	luaTable    = 0x40
	luaCode     = madeAt + 0x200
	luaThread   = heapAt + 0x800
)

var luaRule = fixed{Method: frames.MethodCFI, CFAReg: frames.X86RSP, CFAOff: 80, Saved: [frames.NumCompact]uint8{2, 3,
	0, 0, 5, 4}}

var luaJLoopCode = slices.Concat(luaLoadTraceArray, []byte{luaTable, 0, 0, 0}, luaLoadTraceCode, []byte{0x58},
	luaJumpToTrace)

func newLuaFake() *fake {
	f := newFake()
	f.code(libAt+0x1000, luaPrologue...)
	f.code(libAt+0x1100, luaJLoopCode...)
	f.describe(1, luaCode, 0x100, 32)
	return f
}

// newLua has a trace of 0x100 bytes with 32 bytes of spill area.
func newLua(t *testing.T) (*fake, *Runtime) {
	t.Helper()
	f := newLuaFake()
	o := f.process(calls{luaRet: 0}, luaRule)
	r := New(LuaJIT, o.mods[0], o)
	if r == nil {
		t.Fatal("the interpreter is not recognised")
	}
	r.update(o)
	return f, r
}

func (f *fake) describe(number int, code uint64, size uint32, spill uint16) {
	const array = heapAt + 0x2000
	trace := uint64(heapAt + 0x3000 + number*0x100)
	f.put(luaDispatch+luaTable, array)
	f.put(luaDispatch+luaTable+8, uint64(number+1)|8<<32)
	f.put(array+8*uint64(number), trace)
	f.put(trace+0x50, uint64(size)<<32)
	f.put(trace+0x58, code)
	f.put(trace+0x60, uint64(spill)<<48)
	f.put(trace+0x68, uint64(number))
}

func luaStack() stack {
	s := make(stack, 4+2+10)
	copy(s[5:], []uint64{0x13, 0x12, 0, luaThread, 0, 0, 0x14, 0x15, 0x3, 0xbb, luaRet})
	return s
}

func TestTraceRunsInTheFrameOfTheInterpreter(t *testing.T) {
	_, r := newLua(t)
	regs := at(0, map[uint8]uint64{frames.X86R14: luaDispatch})
	cfa, row, ok := prove(r.Late, regs, luaStack(), luaCode+0x10)
	if want := uint64(stackAt + 8*16); !ok || cfa != want {
		t.Fatalf("the CFA is %#x, %v, want %#x", cfa, ok, want)
	}
	for reg, off := range map[uint8]int64{frames.X86RBP: -16, frames.X86RBX: -24, frames.X86R15: -32, frames.X86R14: -40,
		frames.X86R12: -80, frames.X86R13: -88} {
		if p := row.Regs[reg]; p.Kind != frames.RuleOffset || p.Off != off {
			t.Errorf("register %d is at %+v, want CFA%d", reg, p, off)
		}
	}
	if cfa, _, ok := prove(r.Early, at(0, nil), luaStack(), luaCode+0xff); !ok || cfa != stackAt+8*16 {
		t.Errorf("without the dispatch table: %#x, %v", cfa, ok)
	}
	if _, _, ok := prove(r.Early, at(0, nil), luaStack(), luaCode+0x100); ok {
		t.Error("behind the trace it is believed, too")
	}
}

func TestTracesThatAreNotProven(t *testing.T) {
	for what, change := range map[string]func(f *fake, s stack) map[uint8]uint64{
		"no dispatch table":     func(*fake, stack) map[uint8]uint64 { return nil },
		"another table":         func(*fake, stack) map[uint8]uint64 { return map[uint8]uint64{frames.X86R14: heapAt} },
		"no call":               func(_ *fake, s stack) map[uint8]uint64 { s[15]++; return known },
		"no Lua thread":         func(_ *fake, s stack) map[uint8]uint64 { s[8] = 0; return known },
		"an outer frame inside": func(_ *fake, s stack) map[uint8]uint64 { s[10] = stackAt + 8; return known },
		"another number": func(f *fake, _ stack) map[uint8]uint64 {
			f.describe(1, luaCode, 0x100, 32)
			f.mem[heapAt+0x3100+0x68]++
			return known
		},
		"code that nobody made": func(f *fake, _ stack) map[uint8]uint64 { f.describe(1, libAt, 0x100, 32); return known },
		"a table without end": func(f *fake, _ stack) map[uint8]uint64 {
			f.put(luaDispatch+luaTable+8,
				1<<62)
			return known
		},
		"a stack that is cut": func(*fake, stack) map[uint8]uint64 {
			return map[uint8]uint64{frames.X86R14: luaDispatch, frames.X86RSP: stackAt + 8*8}
		},
	} {
		f, r := newLua(t)
		s := luaStack()
		if cfa, _, ok := prove(r.Late, at(0, change(f, s)), s, luaCode+0x10); ok {
			t.Errorf("%s: the CFA is %#x", what, cfa)
		}
	}
}

var known = map[uint8]uint64{frames.X86R14: luaDispatch}

func TestTracesOfAnotherSizeAreReadAgain(t *testing.T) {
	f, r := newLua(t)
	regs := at(0, known)
	if _, _, ok := prove(r.Late, regs, luaStack(), luaCode); !ok {
		t.Fatal("not proven")
	}
	f.describe(2, luaCode+0x100, 0x80, 0)
	s := luaStack()[4:]
	if cfa, _, ok := prove(r.Late, regs, s, luaCode+0x100); !ok || cfa != stackAt+8*12 {
		t.Errorf("a trace that is new: %#x, %v", cfa, ok)
	}
	// The memory is reused.
	f.describe(1, luaCode, 0x100, 48)
	s = append(stack{0, 0}, luaStack()...)
	if cfa, _, ok := prove(r.Late, regs, s, luaCode); !ok || cfa != stackAt+8*18 {
		t.Errorf("another trace at the same place: %#x, %v", cfa, ok)
	}
}

func TestTracesOfAClosedStateHaveNoRules(t *testing.T) {
	f, r := newLua(t)
	if _, _, ok := prove(r.Late, at(0, known), luaStack(), luaCode); !ok {
		t.Fatal("not proven")
	}
	f.put(luaDispatch+luaTable, 0)
	f.put(luaDispatch+luaTable+8, 0)
	r.update(r.process.host)
	if _, _, ok := r.Early.Rule(frames.Query{PC: luaCode}); ok {
		t.Error("the code of a freed trace still has a rule")
	}
}

func TestPartialFrameOfTheInterpreterHasARule(t *testing.T) {
	_, r := newLua(t)
	own := r.File
	for off, cfa := range map[uint64]int32{0: 8, 1: 16, 2: 24, 4: 32, 6: 40} {
		rule, _, ok := own.Rule(frames.Query{PC: libAt + 0x1000 + off})
		if !ok || rule.CFAReg != frames.X86RSP || rule.CFAOff != cfa {
			t.Errorf("%d bytes into the entry: %+v, %v, want rsp+%d", off, rule, ok, cfa)
		}
	}
	if rule, _, ok := own.Rule(frames.Query{PC: libAt + 0x1000 + 10}); ok {
		t.Errorf("behind the entry: %+v", rule)
	}
}

func TestEndingTraceHasARule(t *testing.T) {
	f := newFake()
	f.code(libAt+0x1000, luaPrologue...)
	f.code(libAt+0x1100, luaJLoopCode...)
	const handler = libAt + 0x2000
	code := slices.Concat(luaExitPushes, luaExitFloats, []byte{0xe8, 0, 0, 0, 0, 0x48, 0x8b, 0x4d, 0x50}, luaMaskCFrame,
		[]byte{0xeb, 5})
	f.code(handler, code...)
	f.code(handler+uint64(len(code)), luaExitInterp...)
	f.describe(1, luaCode, 0x100, 32)
	o := f.process(calls{luaRet: 0}, luaRule)
	r := New(LuaJIT, o.mods[0], o)
	if r == nil {
		t.Fatal("not recognised")
	}
	back := uint64(handler + len(luaExitPushes) + len(luaExitFloats) + 5)
	interp := uint64(handler + len(code))
	for pc, want := range map[uint64]frames.Rule{
		interp: {CFAReg: frames.X86RSP, CFAOff: 96}, interp + 5: {CFAReg: frames.X86RCX, CFAOff: 80},
		interp + 12: {CFAReg: frames.X86RCX, CFAOff: 80},
	} {
		if rule, _, ok := r.File.Rule(frames.Query{PC: pc}); !ok || rule.CFAReg != want.CFAReg ||
			rule.CFAOff != want.CFAOff {
			t.Errorf("at %#x: %+v, %v", pc-interp, rule, ok)
		}
	}
	if rule, _, ok := r.File.Rule(frames.Query{PC: interp + uint64(len(luaExitInterp))}); ok {
		t.Errorf("behind: %+v", rule)
	}
	r.update(o)
	if _, _, ok := prove(r.Late, at(0, known), luaStack(), luaCode); !ok {
		t.Fatal("the trace is not known")
	}
	s := slices.Concat(make(stack, luaExitState/8), luaStack())
	s[luaExitSP/8] = stackAt + luaExitState
	_, row, ok := r.File.Rule(frames.Query{PC: back, AfterCall: true})
	if !ok {
		t.Fatal("no rule for the handler's call")
	}
	regs := at(0, map[uint8]uint64{frames.X86RBP: luaThread})
	cfa, _, ok := row.CFAExpr.(frames.CFAFinder).FindCFA(regs, s, back-1)
	if !ok || cfa != stackAt+luaExitState+8*16 {
		t.Errorf("the CFA is %#x, %v", cfa, ok)
	}
	regs.Set(frames.X86RBP, luaThread+8)
	if _, _, ok := row.CFAExpr.(frames.CFAFinder).FindCFA(regs, s, back-1); ok {
		t.Error("the frame of another Lua thread is believed")
	}
}
