// SPDX-License-Identifier: Apache-2.0

package hotspot

import (
	"encoding/binary"
	"testing"

	"prywalk/frames"
	"prywalk/heuristics"
	"prywalk/internal/walk/managed"
)

type fakeHost struct {
	*fake
	mods     []*frames.Module
	analysis *heuristics.Source
	arch     frames.Arch
}

func (h *fakeHost) Arch() frames.Arch                  { return h.arch }
func (h *fakeHost) Modules() []*frames.Module          { return h.mods }
func (h *fakeHost) CodeAnalysis() *heuristics.Source   { return h.analysis }
func (h *fakeHost) Read(addr uint64, b []byte) int     { return h.read(addr, b) }
func (h *fakeHost) ReadCode(addr uint64, b []byte) int { return h.read(addr, b) }

func (h *fakeHost) OwnSymbols(_ *frames.Module, names ...string) (found []managed.Symbol) {
	for _, name := range names {
		if addr, ok := h.symbol(name); ok {
			found = append(found, managed.Symbol{Name: name, Addr: addr})
		}
	}
	return found
}

func (h *fakeHost) Section(*frames.Module, string) (uint64, []byte, bool) { return 0, nil, false }

func (h *fakeHost) Symbol(_ *frames.Module, name string) (addr, size uint64, ok bool) {
	addr, ok = h.symbol(name)
	return addr, 8, ok
}

func (f *fake) machine(t *testing.T, arch frames.Arch) (*fakeHost, *Runtime) {
	t.Helper()
	h := f.host(arch)
	h.analysis = heuristics.New(heuristics.Options{Arch: arch, Code: codeOf{f}, JIT: true})
	h.mods = []*frames.Module{
		{Start: symbolsAt, End: heapAt, Name: "/lib/" + libjvm},
		{Start: codeAt, End: codeEnd, Name: "[anon]", Generated: true, Sources: []frames.RuleSource{h.analysis},
			Calls: h.analysis},
	}
	r, err := Detect(h)
	if err != nil || r == nil || !r.Attach(h) {
		t.Fatal(r, err)
	}
	return h, r.(*Runtime)
}

func framePointers(h *fakeHost, pc uint64) (stop frames.StopReason, got int, byFP bool) {
	const sp = 0x700000
	b := make([]byte, 0x80)
	for i, v := range map[int]uint64{0x10: sp + 0x30, 0x18: pc, 0x30: sp + 0x50, 0x38: pc, 0x50: 0, 0x58: 0} {
		binary.LittleEndian.PutUint64(b[i:], v)
	}
	regs := frames.Regs{Arch: frames.X86_64, PC: pc}
	regs.Set(frames.X86RSP, sp)
	regs.Set(frames.X86RBP, sp+0x10)
	mem := frames.Snapshot{Stack: frames.Region{Addr: sp, Bytes: b}, StackEnd: sp + 0x80}
	space := frames.NewSpace(frames.X86_64)
	space.SetModules(h.mods)
	var w frames.Walker
	for w.Init(space, &regs, &mem); w.Next(); got++ {
		byFP = byFP || w.Frame().Method == frames.MethodFP
	}
	return w.StopReason(), got, byFP
}

var nops = make([]byte, 64)

// Walks end in its code until the interpreter exists.
func TestStartingJVMIsNotWalkedByHeuristics(t *testing.T) {
	f := newFake()
	stub := f.blob("RuntimeStub - new", 2, 0, nops)
	table := wordAt(f.mem[f.symbols["gHotSpotVMStructs"]:])
	list := wordAt(f.mem[staticsAt:])
	f.put(f.symbols["gHotSpotVMStructs"], 0)
	f.static("CodeCache::_heaps", staticsAt)
	f.put(staticsAt, 0)
	f.put(staticsAt+8, 0)
	h, r := f.machine(t, frames.X86_64)
	m := h.mods[1]
	unguessed := func(when string) {
		t.Helper()
		if stop, n, byFP := framePointers(h, stub+8); stop != frames.StopNoRule || n != 1 || byFP {
			t.Fatalf("%s: %v after %d frames, by frame pointer: %v", when, stop, n, byFP)
		}
	}
	unguessed("its file is being loaded")
	if r.Changed() {
		t.Error("changed, and it is still being loaded")
	}
	f.put(f.symbols["gHotSpotVMStructs"], table)
	if !r.Changed() {
		t.Error("its tables can be read, and nobody was told")
	}
	if m.NoFP {
		t.Error("it has no code yet, and code is taken for its own")
	}
	f.put(staticsAt, list)
	unguessed("it has no interpreter")
	if r.Changed() {
		t.Error("changed, and it is still starting")
	}
	f.put(staticsAt+8, stubsAt)
	if !r.Changed() {
		t.Error("it is ready, and nobody was told")
	}
	rule, _, ok := m.Sources[0].Rule(frames.Query{PC: stub + 8, AfterCall: true})
	if !ok || rule.Method != frames.MethodCFI || !m.NoFP {
		t.Errorf("it is ready, and has no rule: %+v, %v", rule, ok)
	}
	if r.Changed() {
		t.Error("changed once more")
	}
}

func TestCodeOfANewMachineIsUsedInTheSameWalk(t *testing.T) {
	f := newFake()
	stub := f.blob("RuntimeStub - new", 2, 0, nops)
	list := wordAt(f.mem[staticsAt:])
	f.put(staticsAt, 0)
	h, _ := f.machine(t, frames.X86_64)
	m := h.mods[1]
	if m.NoFP {
		t.Fatalf("taken before the machine has it: %+v", m)
	}
	f.put(staticsAt, list)
	rule, _, ok := m.Sources[0].Rule(frames.Query{PC: stub + 8, AfterCall: true})
	if !ok || rule.Method != frames.MethodCFI || !m.NoFP {
		t.Errorf("not taken: %+v, %v, %+v", rule, ok, m)
	}
}

func TestUnknownJVMsAreWalkedByInstructions(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(*fake)
		arch  frames.Arch
	}{
		"of another processor": {func(*fake) {}, frames.ArchUnknown},
		"without tables":       {func(f *fake) { delete(f.symbols, "gHotSpotVMStructs") }, frames.X86_64},
		"without a field":      {func(f *fake) { f.put(tableAt+stride*3, f.text("Renamed")) }, frames.X86_64},
	} {
		f := newFake()
		method := f.blob("nmethod", 6, 5, methodCode)
		c.spoil(f)
		h, r := f.machine(t, c.arch)
		if !h.mods[1].NoFP || r.Incomplete() == nil {
			t.Errorf("%s: %+v, %v", name, h.mods[1], r.Incomplete())
		}
		_, _, ok := h.mods[1].Sources[0].Rule(frames.Query{PC: method})
		if want := c.arch == frames.X86_64; ok != want && want {
			t.Errorf("%s: no rule by its instructions", name)
		}
	}
}

func TestHostWithoutAnAnalysisOfInstructionsHasRules(t *testing.T) {
	f := newFake()
	begin := f.blob("nmethod", 6, 5, methodCode)
	h := &fakeHost{fake: f, arch: frames.X86_64}
	h.mods = []*frames.Module{
		{Start: symbolsAt, End: heapAt, Name: "/lib/" + libjvm},
		{Start: codeAt, End: codeEnd, Name: "[anon]", Generated: true},
	}
	r, err := Detect(h)
	if err != nil || r == nil || !r.Attach(h) {
		t.Fatal(r, err)
	}
	found := 0
	for i := range methodCode {
		q := frames.Query{PC: begin + uint64(i), AfterCall: true}
		if _, _, ok := r.(*Runtime).Rule(q); ok {
			found++
		}
	}
	if found == 0 {
		t.Error("no rule")
	}
}

func TestMachineThatIsReadyBetweenTwoSourcesIsAskedAgain(t *testing.T) {
	f := newFake()
	stub := f.blob("RuntimeStub - new", 2, 0, nops)
	f.put(staticsAt+8, 0)
	h, r := f.machine(t, frames.X86_64)
	q := frames.Query{PC: stub + 8, AfterCall: true}
	sources := h.mods[1].Sources
	if _, _, ok := sources[0].Rule(q); ok || len(sources) < 2 {
		t.Fatalf("a rule without an interpreter, or not adopted: %v", sources)
	}
	f.put(staticsAt+8, stubsAt)
	if rule, _, ok := sources[1].Rule(q); ok {
		t.Errorf("a rule by instructions, where the machine's own was not asked: %+v", rule)
	}
	if !r.Changed() {
		t.Error("the refused answer is not asked again")
	}
	if rule, _, ok := sources[0].Rule(q); !ok || rule.Method != frames.MethodCFI {
		t.Errorf("no rule by the machine's tables: %+v, %v", rule, ok)
	}
}
