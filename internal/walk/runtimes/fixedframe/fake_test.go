// SPDX-License-Identifier: Apache-2.0

package fixedframe

import (
	"cmp"
	"encoding/binary"

	"prywalk/frames"
	"prywalk/heuristics"
	"prywalk/internal/walk/managed"
)

const (
	libAt   = 0x10000
	madeAt  = 0x40000
	heapAt  = 0x60000
	stackAt = 0x7ff0000
	memEnd  = 0x80000
)

type fake struct{ mem []byte }

func newFake() *fake { return &fake{mem: make([]byte, memEnd)} }

func (f *fake) read(addr uint64, b []byte) int {
	if addr >= uint64(len(f.mem)) {
		return 0
	}
	return copy(b, f.mem[addr:])
}

func (f *fake) put(addr, v uint64)          { binary.LittleEndian.PutUint64(f.mem[addr:], v) }
func (f *fake) code(addr uint64, b ...byte) { copy(f.mem[addr:], b) }

// calls maps return addresses to callees; 0 means an indirect call.
type calls map[uint64]uint64

func (c calls) CallBefore(ret frames.Addr) (frames.Call, bool) {
	to, ok := c[ret]
	return frames.Call{Target: to, Direct: to != 0}, ok
}

func (calls) FuncStart(frames.Addr) (frames.Addr, bool) { return 0, false }

type fixed frames.Rule

func (f fixed) Rule(frames.Query) (frames.Rule, *frames.Row, bool) { return frames.Rule(f), nil, true }

type host struct {
	managed.Host
	arch   frames.Arch
	mem    *fake
	mods   []*frames.Module
	marked *frames.Module // exports the symbol; nil means none
	symbol string         // "" means LuaJIT's
	entry  uint64         // of each kind; 0 means none
}

func (h *host) Arch() frames.Arch                { return h.arch }
func (h *host) Modules() []*frames.Module        { return h.mods }
func (h *host) Read(addr uint64, b []byte) int   { return h.mem.read(addr, b) }
func (h *host) CodeAnalysis() *heuristics.Source { return nil }

func (h *host) OwnSymbols(m *frames.Module, names ...string) []managed.Symbol {
	switch {
	case len(names) == 1 && h.entry != 0:
		return []managed.Symbol{{Name: names[0], Addr: h.entry, Function: true, Exported: true}}
	case m != h.marked:
		return nil
	}
	return []managed.Symbol{{Name: cmp.Or(h.symbol, LuaJIT.Marker), Function: true, Exported: true}}
}

func (f *fake) process(c calls, cfi ...frames.RuleSource) *host {
	lib := &frames.Module{Start: libAt, End: madeAt, Name: "lib", Calls: c, Sources: cfi}
	made := &frames.Module{Start: madeAt, End: heapAt, Name: "[anon]", Calls: c, Generated: true}
	return &host{arch: frames.X86_64, mem: f, mods: []*frames.Module{lib, made}}
}

type stack []uint64

func (s stack) Word(addr uint64) (uint64, bool) {
	i := (addr - stackAt) / 8
	if addr < stackAt || addr%8 != 0 || i >= uint64(len(s)) {
		return 0, false
	}
	return s[i], true
}

func (s stack) Cut(uint64) bool { return false }

func at(word int, more map[uint8]uint64) *frames.Regs {
	r := &frames.Regs{Arch: frames.X86_64, PC: madeAt}
	r.Set(frames.X86RSP, stackAt+8*uint64(word))
	for reg, v := range more {
		r.Set(reg, v)
	}
	return r
}

func prove(src frames.RuleSource, regs *frames.Regs, mem frames.Memory, pc uint64) (cfa uint64, row *frames.Row,
	ok bool) {
	_, row, ok = src.Rule(frames.Query{PC: pc})
	if !ok {
		return 0, nil, false
	}
	cfa, _, ok = row.CFAExpr.(frames.CFAFinder).FindCFA(regs, mem, pc)
	return cfa, row, ok
}
