// SPDX-License-Identifier: Apache-2.0

package frames

import (
	"encoding/binary"
	"slices"
	"testing"
)

type fakeSource struct {
	rules map[Addr]Rule
	rows  map[Addr]*Row
	asked int
}

func (s *fakeSource) Rule(q Query) (Rule, *Row, bool) {
	s.asked++
	if row := s.rows[q.PC]; row != nil {
		return s.rules[q.PC], row, true
	}
	r, ok := s.rules[q.PC]
	return r, nil, ok
}

type fakeCalls struct {
	calls map[Addr]Call
	start Addr
}

func (c *fakeCalls) CallBefore(ret Addr) (Call, bool) {
	call, ok := c.calls[ret]
	return call, ok
}

func (c *fakeCalls) FuncStart(Addr) (Addr, bool) { return c.start, c.start != 0 }

func stack(addr Addr, words ...uint64) *Snapshot {
	b := make([]byte, 0, 8*len(words))
	for _, w := range words {
		b = binary.LittleEndian.AppendUint64(b, w)
	}
	return &Snapshot{Stack: Region{Addr: addr, Bytes: b}, StackEnd: addr + uint64(len(b))}
}

func walk(t *testing.T, w *Walker, s *Space, regs *Regs, mem Memory) []Addr {
	t.Helper()
	var pcs []Addr
	w.Init(s, regs, mem)
	for w.Next() {
		pcs = append(pcs, w.Frame().PC)
		if len(pcs) > 1<<20 {
			t.Fatal("the walk does not end")
		}
	}
	return pcs
}

func wantPCs(t *testing.T, got []Addr, want ...Addr) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("frames %#x, want %#x", got, want)
	}
	for i := range got {
		if got[i] != want[i] {
			t.Fatalf("frames %#x, want %#x", got, want)
		}
	}
}

func x86Regs(pc, sp, fp Addr) *Regs {
	r := &Regs{Arch: X86_64, PC: pc}
	r.Set(X86RSP, sp)
	r.Set(X86RBP, fp)
	return r
}

// The module is at [0x1000, 0x9000), bias 0.
func space(src RuleSource, calls CallSites) *Space {
	s := NewSpace(X86_64)
	m := &Module{Start: 0x1000, End: 0x9000, Name: "m", Calls: calls}
	if src != nil {
		m.Sources = []RuleSource{src}
	}
	s.SetModules([]*Module{m})
	return s
}

func TestWalkFollowsRulesToTheRoot(t *testing.T) {
	src := &fakeSource{rules: map[Addr]Rule{
		0x1010: {CFAReg: X86RSP, CFAOff: 16, Method: MethodCFI, Saved: [NumCompact]uint8{2}},
		0x2010: {CFAReg: X86RBP, CFAOff: 16, Method: MethodFP, Saved: [NumCompact]uint8{2}},
		0x3010: {Flags: FlagRoot, Method: MethodCFI},
	}}
	calls := &fakeCalls{calls: map[Addr]Call{0x2010: {}, 0x3010: {}}}
	//             rsp: saved rbp, RA, (locals), rbp2, RA
	mem := stack(0x7000, 0x7018, 0x2010, 99, 0, 0x3010, 1)
	var w Walker
	s := space(src, calls)
	wantPCs(t, walk(t, &w, s, x86Regs(0x1010, 0x7000, 7), mem), 0x1010, 0x2010, 0x3010)
	if w.StopReason() != StopRoot {
		t.Fatalf("stop reason %v, want %v", w.StopReason(), StopRoot)
	}
	if f := w.Frame(); f.Method != MethodFP || f.SP != 0x7028 || !f.AfterCall {
		t.Fatalf("last frame %+v, want a caller with sp 0x7028 by frame pointer", f)
	}
	asked := src.asked
	walk(t, &w, s, x86Regs(0x1010, 0x7000, 7), mem)
	if src.asked != asked {
		t.Fatalf("a second walk calls the source %d times, want 0", src.asked-asked)
	}
}

// DWARF 5 §6.4.4.
func TestUndefinedReturnAddressEndsTheStackWithoutACFA(t *testing.T) {
	src := &fakeSource{
		rules: map[Addr]Rule{0x1010: {Method: MethodCFI}},
		rows:  map[Addr]*Row{0x1010: {CFAReg: X86RAX, CFADeref: true, RA: RegRule{Kind: RuleUndefined}}},
	}
	var w Walker
	wantPCs(t, walk(t, &w, space(src, nil), x86Regs(0x1010, 0x7000, 7), stack(0x7000, 0)), 0x1010)
	if w.StopReason() != StopRoot {
		t.Errorf("stop reason %v, want %v", w.StopReason(), StopRoot)
	}
}

type reads Addr

func (at reads) Eval(_ *Regs, mem Memory, _ uint64) (uint64, bool) { return mem.Word(Addr(at)) }

func TestExpressionBeyondTheCopyNamesTheWordThatItLacks(t *testing.T) {
	onStack := RegRule{Kind: RuleOffset, Off: -8}
	cfa := func(at reads) *Row { return &Row{CFAExpr: at, RA: onStack} }
	register := &Row{CFAReg: X86RSP, CFAOff: 8, RA: onStack}
	register.Regs[X86RBX] = RegRule{Kind: RuleValExpr, Expr: reads(0x7100)}
	all := ^uint64(0)
	for _, c := range []struct {
		row   *Row
		known uint64
		at    Addr
		want  StopReason
	}{
		{cfa(0x7100), all, 0x7100, StopStackCut},
		{cfa(0x9000), all, 0x9000, StopBadMemory},
		{cfa(0x7100), all &^ (1 << X86RBX), 0x7100, StopStackCut},
		{cfa(0x9000), all &^ (1 << X86RBX), 0, StopUnproven},
		{register, all, 0x7100, StopStackCut},
	} {
		src := &fakeSource{rules: map[Addr]Rule{0x1010: {Method: MethodCFI}}, rows: map[Addr]*Row{0x1010: c.row}}
		mem := stack(0x7000, 0)
		mem.StackEnd = 0x8000
		regs := x86Regs(0x1010, 0x7000, 7)
		regs.Known = c.known
		var w Walker
		walk(t, &w, space(src, nil), regs, mem)
		if w.StopReason() != c.want || w.UnreadAddr() != c.at {
			t.Errorf("%+v: stop reason %v at %#x, want %v at %#x", c, w.StopReason(), w.UnreadAddr(), c.want, c.at)
		}
	}
}

func TestWalkHasAStopReason(t *testing.T) {
	rule := Rule{CFAReg: X86RSP, CFAOff: 16, Method: MethodCFI}
	byFP := Rule{CFAReg: X86RBP, CFAOff: 16, Method: MethodCFI}
	cases := []struct {
		name  string
		rules map[Addr]Rule
		regs  *Regs
		mem   *Snapshot
		end   Addr
		want  StopReason
	}{
		{"no rule", map[Addr]Rule{}, x86Regs(0x1010, 0x7000, 0), stack(0x7000, 1, 2), 0, StopNoRule},
		{"copy too short", map[Addr]Rule{0x1010: rule}, x86Regs(0x1010, 0x7000, 0), stack(0x7000, 1), 0x8000, StopStackCut},
		{"not mapped", map[Addr]Rule{0x1010: byFP}, x86Regs(0x1010, 0x7000, 0x10), stack(0x7000, 1), 0, StopBadMemory},
		{"not further out", map[Addr]Rule{0x1010: byFP}, x86Regs(0x1010, 0x7008, 0x6ff0), stack(0x6ff0, 1, 0x2010, 3, 4), 0,
			StopLoop},
		{"no user space", nil, x86Regs(0, 0, 0), stack(0), 0, StopRoot},
		{"call of a nil pointer", nil, x86Regs(0, 0x7000, 0), stack(0x7000, 1, 2), 0, StopNoRule},
		{"return address zero", map[Addr]Rule{0x1010: rule}, x86Regs(0x1010, 0x7000, 0), stack(0x7000, 1, 0), 0, StopRoot},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if c.end != 0 {
				c.mem.StackEnd = c.end
			}
			var w Walker
			walk(t, &w, space(&fakeSource{rules: c.rules}, nil), c.regs, c.mem)
			if w.StopReason() != c.want {
				t.Fatalf("stop reason %v, want %v", w.StopReason(), c.want)
			}
		})
	}
}

func TestWalkWithoutFramePointerUsesOnlyRulesOfTheStackPointer(t *testing.T) {
	byFP := &fakeSource{rules: map[Addr]Rule{0x1010: {CFAReg: X86RBP, CFAOff: 16, Method: MethodCFI}}}
	regs := &Regs{Arch: X86_64, PC: 0x1010}
	regs.Set(X86RSP, 0x7000)
	mem := stack(0x7000, 5, 0x3010)
	var w Walker
	s := space(byFP, nil)
	wantPCs(t, walk(t, &w, s, regs, mem), 0x1010)
	if w.StopReason() != StopUnproven {
		t.Fatalf("stop reason %v, want %v", w.StopReason(), StopUnproven)
	}
	asked := byFP.asked
	wantPCs(t, walk(t, &w, s, regs, mem), 0x1010)
	if byFP.asked != asked || w.StopReason() != StopUnproven {
		t.Fatalf("a second walk calls the source %d times and ends by %v; want 0, %v", byFP.asked-asked, w.StopReason(),
			StopUnproven)
	}
	bySP := &fakeSource{rules: map[Addr]Rule{
		0x1010: {CFAReg: X86RSP, CFAOff: 16, Method: MethodHeuristic},
		0x3010: {Flags: FlagRoot},
	}}
	s.modules[0].Sources = append(s.modules[0].Sources, bySP)
	s.modules[0].Calls = &fakeCalls{calls: map[Addr]Call{0x3010: {}}}
	s.Forget()
	wantPCs(t, walk(t, &w, s, regs, mem), 0x1010, 0x3010)
	byFP.rules[0x1010] = Rule{Flags: FlagNoRule} // the next sources are not asked
	s.Forget()
	if r := s.lookup(0x1010, kindSPOnly); r.rule.Flags != FlagNoRule || r.mod != s.modules[0] {
		t.Fatalf("rule %+v by the stack pointer alone, want none, in the module", r)
	}
}

func TestScanTakesOnlyWordsAfterACallOfThisFunction(t *testing.T) {
	calls := &fakeCalls{start: 0x1000, calls: map[Addr]Call{
		0x2010: {Target: 0x5000, Direct: true}, // calls another function
		0x3010: {Target: 0x1000, Direct: true},
	}}
	src := &fakeSource{rules: map[Addr]Rule{0x3010: {Flags: FlagRoot}}}
	var w Walker
	mem := stack(0x7000, 1, 0x2010, 7, 0x3010, 9)
	wantPCs(t, walk(t, &w, space(src, calls), x86Regs(0x1010, 0x7000, 0), mem), 0x1010, 0x3010)
	if f := w.Frame(); f.Method != MethodScan || f.SP != 0x7020 {
		t.Fatalf("frame %+v, want sp 0x7020 by scan", f)
	}
}

func TestSignalFrameRestoresEveryRegisterAndAnExactPC(t *testing.T) {
	row := &Row{CFAReg: X86RSP, CFAOff: 16, CFADeref: true, RA: RegRule{Kind: RuleRegOffset, Reg: X86RSP, Off: 8}}
	row.Regs[X86RAX] = RegRule{Kind: RuleRegOffset, Reg: X86RSP, Off: 0}
	src := &fakeSource{
		rules: map[Addr]Rule{0x1010: {Flags: FlagExactPC, Method: MethodCFI}, 0x2010: {Flags: FlagRoot}},
		rows:  map[Addr]*Row{0x1010: row},
	}
	var w Walker
	mem := stack(0x7000, 77, 0x2010, 0x6000, 1)
	wantPCs(t, walk(t, &w, space(src, nil), x86Regs(0x1010, 0x7000, 0), mem), 0x1010, 0x2010)
	f := w.Frame()
	if f.AfterCall || f.SP != 0x6000 || f.LookupPC(X86_64) != 0x2010 {
		t.Fatalf("frame %+v, want sp 0x6000 and pc 0x2010, not a caller", f)
	}
	if v, ok := w.Regs().Get(X86RAX); !ok || v != 77 {
		t.Fatalf("rax = %d, %v; want 77", v, ok)
	}
}

func TestWalkIsBoundedInDepth(t *testing.T) {
	src := &fakeSource{rules: map[Addr]Rule{0x1010: {CFAReg: X86RSP, CFAOff: 8, Method: MethodCFI}}}
	words := make([]uint64, 5000)
	for i := range words {
		words[i] = 0x1010
	}
	w := Walker{MaxDepth: 100}
	s := space(src, nil)
	s.modules[0].Sources = []RuleSource{src}
	got := walk(t, &w, s, x86Regs(0x1010, 0x7000, 0), stack(0x7000, words...))
	if len(got) != 100 || w.StopReason() != StopDepth {
		t.Fatalf("%d frames, %v; want 100, %v", len(got), w.StopReason(), StopDepth)
	}
}

func TestArm64LeafReturnsThroughTheLinkRegister(t *testing.T) {
	src := &fakeSource{rules: map[Addr]Rule{
		0x1010: {CFAReg: ARM64SP, Flags: FlagRAInLR, Method: MethodCFI},
		0x2010: {CFAReg: ARM64SP, CFAOff: 32, Method: MethodCFI, Saved: [NumCompact]uint8{4, 3}},
		0x3010: {Flags: FlagRoot},
	}}
	s := space(src, nil)
	s.Arch = ARM64
	regs := &Regs{Arch: ARM64, PC: 0x1010, PACMask: 0x7f << 48}
	regs.Set(ARM64SP, 0x7000)
	regs.Set(ARM64LR, 0x2010|3<<48)
	var w Walker
	mem := stack(0x7000, 0x7100, 0x3010, 0, 0, 0)
	wantPCs(t, walk(t, &w, s, regs, mem), 0x1010, 0x2010, 0x3010)
}

func TestWalkAllocatesNothing(t *testing.T) {
	s, regs, mem := deepStack(200)
	var w Walker
	if n := testing.AllocsPerRun(10, func() {
		w.Init(s, regs, mem)
		for w.Next() {
		}
	}); n != 0 {
		t.Fatalf("%v allocations per walk, want 0", n)
	}
}

type counted struct {
	Memory
	words int
}

func (c *counted) Word(addr Addr) (uint64, bool) {
	c.words++
	return c.Memory.Word(addr)
}

type asked struct {
	RuleSource
	rules int
}

func (a *asked) Rule(q Query) (Rule, *Row, bool) {
	a.rules++
	return a.RuleSource.Rule(q)
}

func TestDeepRecursionCostsTheSameForEachFrame(t *testing.T) {
	const words, rules = 3, 8 // a frame of deepStack saves two registers, and has 8 call sites
	for _, n := range []int{100, 10_000, 100_000} {
		s, regs, snap := deepStack(n)
		src := &asked{RuleSource: s.Modules()[0].Sources[0]}
		s.Modules()[0].Sources[0] = src
		for name, mem := range map[string]Memory{"copied": snap, "read word by word": &counted{Memory: snap}} {
			w := Walker{MaxDepth: -1}
			depth := 0
			for w.Init(s, regs, mem); w.Next(); depth++ {
			}
			if depth != n || w.StopReason() != StopRoot {
				t.Fatalf("%s: %d frames, %v; want %d, %v", name, depth, w.StopReason(), n, StopRoot)
			}
			if c, ok := mem.(*counted); ok && c.words > words*n {
				t.Errorf("%d words read for %d frames, want at most %d", c.words, n, words*n)
			}
		}
		if src.rules > 2*rules {
			t.Errorf("%d calls of Rule for %d frames, want at most %d", src.rules, n, 2*rules)
		}
	}
}

// deepStack has frames of 32 bytes, over 8 call sites.
func deepStack(n int) (*Space, *Regs, *Snapshot) {
	src := &fakeSource{rules: map[Addr]Rule{}}
	words := make([]uint64, 0, 4*n+4)
	for i := range n {
		pc := Addr(0x1010 + 0x20*(i%8))
		src.rules[pc] = Rule{CFAReg: X86RSP, CFAOff: 32, Method: MethodCFI, Saved: [NumCompact]uint8{2, 3}}
		words = append(words, 1, 2, 3, 0x1010+0x20*uint64((i+1)%8))
	}
	words[len(words)-1] = 0
	return space(src, nil), x86Regs(0x1010, 0x7000, 0), stack(0x7000, words...)
}

func BenchmarkWalkSynthetic(b *testing.B) {
	const depth = 64
	s, regs, mem := deepStack(depth)
	var w Walker
	b.ReportAllocs()
	for b.Loop() {
		w.Init(s, regs, mem)
		for w.Next() {
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/depth, "ns/frame")
}

// OCaml's caml_c_call pops its return address and jumps. Then the CFA is the stack pointer, and the return address in
// the word below.
func TestPoppedReturnAddressBelowTheStackPointerIsUsed(t *testing.T) {
	src := &fakeSource{rules: map[Addr]Rule{
		0x1010: {CFAReg: X86RSP, CFAOff: 0, Method: MethodCFI},
		0x2010: {CFAReg: X86RSP, CFAOff: 8, Method: MethodCFI},
		0x3010: {Flags: FlagRoot, Method: MethodCFI},
	}}
	s := space(src, &fakeCalls{calls: map[Addr]Call{0x2010: {}, 0x3010: {}}})
	var w Walker
	got := walk(t, &w, s, x86Regs(0x1010, 0x7008, 0), stack(0x7000, 0x2010, 0x3010, 0))
	if want := []Addr{0x1010, 0x2010, 0x3010}; !slices.Equal(got, want) || w.StopReason() != StopRoot {
		t.Errorf("%#x, %v; want %#x", got, w.StopReason(), want)
	}
	// The place holds the callee's return address.
	src.rules[0x2010] = Rule{CFAReg: X86RSP, CFAOff: 0, Method: MethodCFI}
	s.Forget()
	got = walk(t, &w, s, x86Regs(0x1010, 0x7008, 0), stack(0x6ff8, 0x3010, 0x2010, 0x3010, 0))
	if len(got) != 2 || w.StopReason() != StopLoop {
		t.Errorf("%#x, %v; want two frames, %v", got, w.StopReason(), StopLoop)
	}
}

func TestFramesHaveAKnownFramePointer(t *testing.T) {
	for _, known := range []bool{true, false} {
		regs := Regs{PC: 1, Arch: X86_64}
		regs.Set(X86RSP, 0x100)
		regs.Val[X86RBP] = 0x140
		want := Addr(0)
		if known {
			regs.Set(X86RBP, 0x140)
			want = 0x140
		}
		var w Walker
		w.Init(NewSpace(ArchUnknown), &regs, stack(0x100))
		if !w.Next() {
			t.Fatal("no frame")
		}
		if f := w.Frame(); f.FP != want {
			t.Errorf("known %v: frame pointer %#x, want %#x", known, f.FP, want)
		}
	}
}
