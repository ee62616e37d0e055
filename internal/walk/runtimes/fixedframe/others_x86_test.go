// SPDX-License-Identifier: Apache-2.0

package fixedframe

import (
	"slices"
	"testing"

	"prywalk/frames"
)

const entryRet = libAt + 0x206

const entry = libAt + 0x300

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
	r.update(o)
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

func TestMarkersAndArchitectures(t *testing.T) {
	lib := &frames.Module{Name: "lib"}
	for symbol, kind := range map[string]*Kind{"luaJIT_setmode": LuaJIT, "erts_dirty_process_main": BEAM,
		"pypy_execute_source": PyPy, "main": nil} {
		if m, got := find(&host{mods: []*frames.Module{lib}, marked: lib, symbol: symbol}); got != kind ||
			(m == lib) != (kind != nil) {
			t.Errorf("%s marks %+v in %v, want %+v", symbol, got, m, kind)
		}
	}
	o := newFake().process(nil)
	o.arch = frames.ARM64
	if New(LuaJIT, o.mods[0], o) != nil {
		t.Error("rules of x86-64 are given on arm64")
	}
}

func FuzzRuntimes(f *testing.F) {
	jloop := slices.Concat(luaLoadTraceArray, []byte{0x40, 0, 0, 0}, luaLoadTraceCode, []byte{0x58}, luaJumpToTrace)
	f.Add(slices.Concat(luaPrologue, jloop), uint16(3), uint64(luaRet))
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
			r.update(o)
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
		if l := readLuaJIT(&process{host: o, lib: o.mods[0]}); l != nil {
			l.prove(at(0, map[uint8]uint64{frames.X86R14: word &^ 7}), stack{word, entryRet}, madeAt+uint64(pc))
			if len(l.vms) > maxLuaVMs || len(l.spills) > 1<<16 {
				t.Fatalf("%d universes, %d sizes", len(l.vms), len(l.spills))
			}
		}
	})
}
