// SPDX-License-Identifier: Apache-2.0

package fixedframe

import (
	"encoding/binary"
	"slices"
	"testing"

	"prywalk/frames"
)

const entryRet = libAt + 0x206

// sub rsp, 24; mov [rsp], rbx; mov [rsp + 8], r12; mov [rsp + 16], r13; jmp r12
func newGuileProcess() (*fake, *FrameRules) {
	f := newFake()
	f.code(madeAt, 0x48, 0x83, 0xec, 0x18, 0x48, 0x89, 0x1c, 0x24, 0x4c, 0x89, 0x64, 0x24, 0x08,
		0x4c, 0x89, 0x6c, 0x24, 0x10, 0x49, 0xff, 0xe4)
	call := []byte{0xff, 0x15, 0, 0, 0, 0}
	binary.LittleEndian.PutUint32(call[2:], heapAt-entryRet)
	f.code(entryRet-6, call...)
	f.put(heapAt, madeAt)
	o := f.process(calls{entryRet: 0, luaRet: 0})
	r := New(Guile, o.mods[0], o)
	r.Update(o)
	return f, r
}

func TestCompiledProcedureRunsInTheFrameOfItsTrampoline(t *testing.T) {
	_, r := newGuileProcess()
	s := stack{0xb, 0x12, 0x13, entryRet, 0}
	cfa, row, ok := prove(r.Early, at(0, nil), s, madeAt+0x100)
	if !ok || cfa != stackAt+32 {
		t.Fatalf("the CFA is %#x, %v", cfa, ok)
	}
	for reg, off := range map[uint8]int64{frames.X86RBX: -32, frames.X86R12: -24, frames.X86R13: -16} {
		if p := row.Regs[reg]; p.Kind != frames.RuleOffset || p.Off != off {
			t.Errorf("register %d is at %+v, want CFA%d", reg, p, off)
		}
	}
	if _, _, ok := r.Early.Rule(frames.Query{PC: madeAt + 4}); ok {
		t.Error("the trampoline itself is taken for code that it has entered")
	}
	for what, s := range map[string]stack{
		"a word too far in": {0x12, 0x13, entryRet, 0, 0}, "another call": {0, 0, 0, luaRet, 0}, "nothing": {0, 0, 0, 0, 0},
	} {
		if cfa, _, ok := prove(r.Early, at(0, nil), s, madeAt+0x100); ok {
			t.Errorf("%s: the CFA is %#x", what, cfa)
		}
	}
}

func TestTrampolineIsNotLearnedFromAnotherFrame(t *testing.T) {
	f, r := newGuileProcess()
	if cfa, _, ok := prove(r.Early, at(0, nil), stack{0, 0, entryRet, 0, 0}, madeAt+0x100); ok {
		t.Errorf("a return address at a place where the trampoline puts none: %#x", cfa)
	}
	f.put(heapAt, libAt)
	r.Update(f.process(calls{entryRet: 0}))
	if cfa, _, ok := prove(r.Early, at(0, nil), stack{0, 0, 0, entryRet, 0}, madeAt+0x100); ok {
		t.Errorf("a call of the library's own code: %#x", cfa)
	}
}

const entry = libAt + 0x300

func TestSchemesCodeReturnsToTheCallOfItsEntry(t *testing.T) {
	f := newFake()
	o := f.process(calls{entryRet: entry, luaRet: entry + 1})
	o.entry = entry
	r := New(Chez, o.mods[0], o)
	for what, c := range map[string]struct {
		words []uint64
		cfa   uint64
	}{
		"behind a word":       {[]uint64{1, entryRet}, stackAt + 16},
		"behind another call": {[]uint64{luaRet, 0, entryRet}, stackAt + 24},
		"twice":               {[]uint64{entryRet, 0, entryRet}, 0},
		"of something else":   {[]uint64{luaRet}, 0},
		"too far":             {append(make([]uint64, maxChezWords), entryRet), 0},
	} {
		s := append(stack(c.words), make(stack, 2*maxChezWords)...)
		cfa, row, ok := prove(r.Early, at(0, nil), s, madeAt)
		if ok != (c.cfa != 0) || ok && cfa != c.cfa {
			t.Errorf("%s: the CFA is %#x, %v, want %#x", what, cfa, ok, c.cfa)
		}
		if row.Regs[frames.X86RBX].Kind != frames.RuleUndefined {
			t.Error("registers of the caller are believed")
		}
	}
}

func TestErlangsCodeLeadsToTheSchedulersStack(t *testing.T) {
	f := newFake()
	// sub rsp, 64; and rsp, −64; mov [rdi], rsp; lea rbx, [rsp + 16].
	f.code(madeAt+0x20, 0x48, 0x81, 0xec, 64, 0, 0, 0, 0x48, 0x83, 0xe4, 0xc0, 0x48, 0x89, 0x27, 0x48, 0x8d, 0x9c, 0x24,
		16, 0, 0, 0)
	o := f.process(calls{entryRet: entry})
	o.entry = entry
	r := New(BEAM, o.mods[0], o)
	entered := slices.Clone(f.mem[madeAt : madeAt+0x40])
	clear(f.mem[madeAt : madeAt+0x40])
	r.Update(o)
	if _, _, ok := prove(r.Early, at(0, map[uint8]uint64{frames.X86RBX: stackAt}), make(stack, 32), madeAt); ok {
		t.Error("a frame is found before the code was made")
	}
	f.code(madeAt, entered...)
	rule, _, ok := r.Early.Rule(frames.Query{PC: madeAt})
	if !ok || rule.Flags != frames.FlagStackSwitch {
		t.Fatalf("%+v, %v: the stack of Erlang code is another one", rule, ok)
	}
	s := make(stack, 32)
	s[8+3] = entryRet
	regs := at(0, map[uint8]uint64{frames.X86RBX: stackAt + 16, frames.X86RSP: heapAt})
	if cfa, _, ok := prove(r.Early, regs, s, madeAt); !ok || cfa != stackAt+8*12 {
		t.Errorf("the CFA is %#x, %v", cfa, ok)
	}
	regs.Set(frames.X86RBX, stackAt+8*16)
	if cfa, _, ok := prove(r.Early, regs, s, madeAt); ok {
		t.Errorf("by another register: %#x", cfa)
	}
	_, row, _ := r.Early.Rule(frames.Query{PC: madeAt})
	regs.Set(frames.X86RBX, heapAt)
	if _, unread, _ := row.CFAExpr.(frames.CFAFinder).FindCFA(regs, s, madeAt); unread != heapAt-16+64 {
		t.Errorf("a stack that was not copied: %#x is said to lack", unread)
	}
}

func TestFramesOfLispAreMadeByTheCaller(t *testing.T) {
	const fp, outer = stackAt + 8*4, stackAt + 8*8
	for what, c := range map[string]struct {
		code    []byte
		sp      int
		top     uint64
		cfa, fp uint64
	}{
		"body":               {[]byte{0x90, 0x90, 0x90, 0x90, 0x90, 0x48, 0x89, 0xd8}, 1, 0, fp + 16, outer},
		"before the call":    {[]byte{0x90, 0x90, 0x48, 0x8b, 0xec, 0xff, 0x50, 0xfd}, 1, 0, outer + 16, outer + 64},
		"another call":       {[]byte{0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0x50, 0xfd}, 1, 0, fp + 16, outer},
		"behind the call":    {[]byte{0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0x8f, 0x45, 0x08}, 1, entryRet, stackAt + 16, outer},
		"return":             {[]byte{0x48, 0x8b, 0xe5, 0xf8, 0x5d, 0xc3}, 1, entryRet, stackAt + 16, fp},
		"return after leave": {[]byte{0x90, 0x90, 0x90, 0xc9, 0xf8, 0xc3}, 1, entryRet, stackAt + 16, fp},
		"routine":            {[]byte{0x90, 0x90, 0x90, 0x90, 0x90, 0x48, 0x01, 0xd8}, 1, luaRet, stackAt + 16, fp},
	} {
		f := newFake()
		const pc = madeAt + 0x105
		f.code(pc-5, c.code...)
		o := f.process(calls{entryRet: 0, luaRet: madeAt + 0x100})
		r := New(SBCL, o.mods[0], o)
		r.Update(o)
		s := make(stack, 20)
		s[c.sp] = c.top
		s[4], s[5], s[8], s[9] = outer, entryRet, outer+64, entryRet
		regs := at(c.sp, map[uint8]uint64{frames.X86RBP: fp})
		regs.PC = pc
		cfa, row, ok := prove(r.Early, regs, s, pc)
		if !ok || cfa != c.cfa {
			t.Errorf("%s: the CFA is %#x, %v, want %#x", what, cfa, ok, c.cfa)
			continue
		}
		if v, ok := row.Regs[frames.X86RBP].Expr.Eval(regs, s, cfa); !ok || v != c.fp {
			t.Errorf("%s: the caller's frame pointer is %#x, want %#x", what, v, c.fp)
		}
	}
}

func TestCallFromCToLisp(t *testing.T) {
	f := newFake()
	f.code(libAt+0x400, slices.Concat(lispPrologue, []byte{0x49, 0x89, 0xcd}, lispCall)...)
	o := f.process(nil)
	own := New(SBCL, o.mods[0], o).File
	ret := uint64(libAt + 0x400 + len(lispPrologue) + 3 + len(lispCall))
	r, _, ok := own.Rule(frames.Query{PC: ret, AfterCall: true})
	if !ok || r.CFAReg != frames.X86RBP || r.CFAOff != 16 || r.Flags != frames.FlagStackSwitch || r.Saved[0] != 2 ||
		r.Saved[1] != 3 {
		t.Errorf("%+v, %v", r, ok)
	}
	if _, _, ok := own.Rule(frames.Query{PC: ret}); ok {
		t.Error("the rule is given for the innermost frame, too")
	}
}

func TestMarkersAndArchitectures(t *testing.T) {
	lib := &frames.Module{Name: "lib"}
	for symbol, kind := range map[string]*Kind{"luaJIT_setmode": LuaJIT, "scm_with_guile": Guile,
		"S_generic_invoke": Chez, "erts_dirty_process_main": BEAM, "call_into_lisp": SBCL, "pypy_execute_source": PyPy,
		"main": nil} {
		if m, got := find(&host{mods: []*frames.Module{lib}, marked: lib, symbol: symbol}); got != kind ||
			(m == lib) != (kind != nil) {
			t.Errorf("%s marks %+v in %v, want %+v", symbol, got, m, kind)
		}
	}
	o := newFake().process(nil)
	o.arch = frames.ARM64
	if New(Guile, o.mods[0], o) != nil {
		t.Error("rules of x86-64 are given on arm64")
	}
}

func FuzzRuntimes(f *testing.F) {
	seed, _ := newGuileProcess()
	f.Add(seed.mem[libAt:libAt+0x400], uint16(0x20), uint64(entryRet))
	jloop := slices.Concat(luaLoadTraceArray, []byte{0x40, 0, 0, 0}, luaLoadTraceCode, []byte{0x58}, luaJumpToTrace)
	f.Add(slices.Concat(luaPrologue, jloop), uint16(3), uint64(luaRet))
	f.Add(haskellCode(), uint16(0), uint64(entryRet))
	f.Add(pypyCode(), uint16(len(pypyCode())), uint64(stackAt))
	f.Fuzz(func(t *testing.T, mem []byte, pc uint16, word uint64) {
		p := newFake()
		for _, at := range []int{libAt, madeAt, heapAt} {
			copy(p.mem[at:at+0x10000], mem)
		}
		o := p.process(calls{entryRet: entry, luaRet: 0}, luaRule)
		o.entry = entry
		for _, kind := range kinds {
			r := New(kind, o.mods[0], o)
			if r == nil {
				continue
			}
			r.Update(o)
			s := stack{word, entryRet, word, luaRet, heapAt, entryRet}
			s = append(s, pypyStack(word%8, entryRet)...)
			regs := at(0, map[uint8]uint64{frames.X86RBX: word, frames.X86RBP: stackAt + 16, frames.X86R14: word &^ 7})
			for _, src := range []frames.RuleSource{r.Early, r.Late} {
				if src != nil {
					prove(src, regs, s, madeAt+uint64(pc))
				}
			}
			if own := r.File; own != nil {
				own.Rule(frames.Query{PC: libAt + uint64(pc)})
			}
		}
		if l := readLuaJIT(&process{Host: o, lib: o.mods[0]}); l != nil {
			l.prove(at(0, map[uint8]uint64{frames.X86R14: word &^ 7}), stack{word, entryRet}, madeAt+uint64(pc))
			if len(l.vms) > maxLuaVMs || len(l.spills) > 1<<16 {
				t.Fatalf("%d universes, %d sizes", len(l.vms), len(l.spills))
			}
		}
		if h := newHaskell(&process{Host: o, lib: o.mods[0]}, libAt+uint64(pc)); h != nil {
			src := h.inFile(o.mods[0], nil)
			for _, at := range []uint64{h.start, h.start + afterSecondSub, h.left, h.end - 1} {
				src.Rule(frames.Query{PC: at})
			}
			h.prove(at(0, nil), stack{word, entryRet}, madeAt)
		}
	})
}
