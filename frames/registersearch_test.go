// SPDX-License-Identifier: Apache-2.0

package frames

import (
	"testing"
)

// program is a module of functions of 0x100 bytes each, from 0x1000 on. All use a frame pointer, except 0x1f00, the
// thread's first.
type program struct {
	jumps map[Addr]bool // functions that may end in a jump
	calls map[Addr]Call
	deref bool // the CFA is the word at rbp − 8
}

// Return addresses.
const (
	inInner     = 0x1010
	innerCalled = 0x1110 // in outer
	outerCalled = 0x1f10 // in first
	byPointer   = 0x1220 // in loop
	byFirst     = 0x1f20 // in first, by pointer
	recursive   = 0x1030 // in inner
	otherCalled = 0x1f30 // in first
	loopCalled  = 0x1340 // in outermost
	farCalled   = 0x1f50 // outermost, in first
)

func newProgram() *program {
	return &program{calls: map[Addr]Call{
		innerCalled: {0x1000, true}, outerCalled: {0x1100, true}, byPointer: {}, byFirst: {},
		recursive: {0x1000, true}, otherCalled: {0x1400, true}, loopCalled: {0x1200, true}, farCalled: {0x1300, true},
	}}
}

func (p *program) CallBefore(ret Addr) (Call, bool) { call, ok := p.calls[ret]; return call, ok }

func (p *program) EndsInTailCall(start Addr) bool { return p.jumps[start] }

func (p *program) FuncStart(pc Addr) (Addr, bool) { return pc &^ 0xff, true }

func (p *program) Rule(q Query) (Rule, *Row, bool) {
	switch {
	case q.LookupPC(X86_64)&^0xff == 0x1f00:
		return Rule{Flags: FlagRoot, Method: MethodCFI}, nil, true
	case q.SPOnly:
		return Rule{}, nil, false
	}
	row := &Row{CFAReg: X86RBP, CFAOff: 16, RA: RegRule{Kind: RuleOffset, Off: -8}}
	row.Regs[X86RBP] = RegRule{Kind: RuleOffset, Off: -16}
	if p.deref && q.PC == inInner {
		row.CFADeref, row.CFAOff = true, -8
		row.Regs[X86RBP] = RegRule{Kind: RuleRegOffset, Reg: X86RBP}
	}
	r, full := row.Compact(X86_64, MethodCFI, 0)
	return r, full, true
}

func (p *program) sleep(t *testing.T, w *Walker, words ...uint64) []Addr {
	t.Helper()
	r := &Regs{Arch: X86_64, PC: inInner}
	r.Set(X86RSP, 0x7000)
	return walk(t, w, space(p, p), r, stack(0x7000, words...))
}

func TestFramePointerIsFoundOnTheStack(t *testing.T) {
	var w Walker
	got := newProgram().sleep(t, &w, 1, 2, 3,
		0x7030, innerCalled, // inner's rbp is 0x7018
		9, 0x7048, outerCalled) // outer's 0x7030
	wantPCs(t, got, inInner, innerCalled, outerCalled)
	if w.StopReason() != StopRoot || w.FoundRegs() != 1 {
		t.Errorf("stop reason %v, %d registers found; want a root and 1", w.StopReason(), w.FoundRegs())
	}
	got = newProgram().sleep(t, &w, 1, 2, 3, 0x7038, innerCalled, 9, 0x7048, outerCalled, 5)
	wantPCs(t, got, inInner) // outer has no frame
	if w.StopReason() != StopUnproven {
		t.Errorf("stop reason %v, want %v", w.StopReason(), StopUnproven)
	}
}

func TestMethodOfAFoundFramePointerIsFP(t *testing.T) {
	c := newProgram()
	r := &Regs{Arch: X86_64, PC: inInner}
	r.Set(X86RSP, 0x7000)
	var w Walker
	w.Init(space(c, c), r, stack(0x7000, 0x7010, innerCalled, 0x7020, outerCalled, 5))
	var methods []Method
	for w.Next() {
		methods = append(methods, w.Frame().Method)
	}
	if len(methods) != 3 || methods[1] != MethodFP || methods[2] != MethodCFI {
		t.Errorf("methods %v, want fp and cfi after the first", methods)
	}
}

func TestChainsOfFramesThatHaveEndedAreNotAccepted(t *testing.T) {
	var w Walker
	for name, c := range map[string]struct {
		words []uint64
		want  []Addr
		jumps map[Addr]bool
	}{
		"an old chain that joins at a call of another function": {
			[]uint64{0x7010, innerCalled, 0x7040, 0x7040, innerCalled, 7, 8, 0x7060, otherCalled, 5}, nil, nil},
		"the live chain, joined by the old one": {
			[]uint64{0x7010, innerCalled, 0x7040, otherCalled, 1, 0x7038, innerCalled, 0x7050, outerCalled, 5},
			[]Addr{inInner, innerCalled, outerCalled}, nil},
		"an old chain in partly cleared memory": {
			[]uint64{0x7010, innerCalled, 0, 0, 0, 0, 5}, nil, nil},
		"an old frame of the same functions, with its own return": {
			[]uint64{0x7010, innerCalled, 0x7060, outerCalled, 1, 0x7038, innerCalled, 0x7060, outerCalled, 5}, nil, nil},
		"recursion, or a frame that has ended": {
			[]uint64{0x7010, recursive, 0x7020, innerCalled, 0x7060, outerCalled, 5}, nil, nil},
		"a direct call, or a function that ended in a jump to this one": {
			[]uint64{0x7010, otherCalled, 0x7018, innerCalled, 1, 0x7038, innerCalled, 0x7060, outerCalled, 5}, nil,
			map[Addr]bool{0x1400: true}},
		"a direct call, and an outer chain with a jump in it": {
			[]uint64{0x7010, innerCalled, 0x7040, otherCalled, 5}, []Addr{inInner, innerCalled, otherCalled},
			map[Addr]bool{0x1400: true}},
		"a direct call, and an outer chain that is impossible": {
			[]uint64{0x7010, innerCalled, 0x7040, otherCalled, 5}, nil, nil},
		"a call by pointer from a place with several calls": {
			[]uint64{0x7010, byPointer, 0x7020, loopCalled, 0x7030, farCalled, 5}, nil, nil},
		"a call by pointer from the thread's first function": {
			[]uint64{1, 0x7030, byFirst, 5}, []Addr{inInner, byFirst}, nil},
		"a direct call, or one by pointer further out": {
			[]uint64{0x7010, innerCalled, 0x7020, byPointer, 0x7030, loopCalled, 0x7040, farCalled, 5}, nil, nil},
		"a direct call, and one by pointer from the thread's first function": {
			[]uint64{0x7010, innerCalled, 0x7020, byFirst, 5}, []Addr{inInner, innerCalled, byFirst}, nil},
	} {
		program := newProgram()
		program.jumps = c.jumps
		got := program.sleep(t, &w, c.words...)
		if c.want == nil && w.StopReason() != StopUnproven {
			t.Errorf("%s: %#x is accepted, want %v", name, got, StopUnproven)
		}
		if c.want != nil && (len(got) != len(c.want) || got[1] != c.want[1] || w.StopReason() != StopRoot) {
			t.Errorf("%s: %#x, %v; want %#x", name, got, w.StopReason(), c.want)
		}
	}
}

func TestRealignedFrameIsFoundByTheWordWithItsCFA(t *testing.T) {
	c := newProgram()
	c.deref = true
	var w Walker
	// rbp − 8 holds the CFA, rbp the caller's rbp; padding follows up to the return address.
	got := c.sleep(t, &w, 1, 0x7030, 0x7030, 4, 5, innerCalled, 0x7048, outerCalled, 5)
	wantPCs(t, got, inInner, innerCalled, outerCalled)
	if w.StopReason() != StopRoot || w.FoundRegs() != 1 {
		t.Errorf("stop reason %v, %d registers found; want a root and 1", w.StopReason(), w.FoundRegs())
	}
}

func TestCopyTooShortForASearchStopsAsStackCut(t *testing.T) {
	c := newProgram()
	mem := stack(0x7000, 0x7010, innerCalled, 0x8000, outerCalled, 5)
	mem.Stack.Bytes = mem.Stack.Bytes[:24]
	mem.StackEnd = 0x9000
	r := &Regs{Arch: X86_64, PC: inInner}
	r.Set(X86RSP, 0x7000)
	var w Walker
	walk(t, &w, space(c, c), r, mem)
	if w.StopReason() != StopStackCut || w.UnreadAddr() != 0x7018 {
		t.Errorf("stop reason %v at %#x, want %v at 0x7018", w.StopReason(), w.UnreadAddr(), StopStackCut)
	}
}

func TestSearchForARegisterAllocatesNothing(t *testing.T) {
	c := newProgram()
	s := space(c, c)
	r := &Regs{Arch: X86_64, PC: inInner}
	r.Set(X86RSP, 0x7000)
	mem := stack(0x7000, 1, 0x7018, innerCalled, 0x7028, outerCalled, 5)
	var w Walker
	walk := func() {
		for w.Init(s, r, mem); w.Next(); {
			continue
		}
	}
	walk()
	if w.FoundRegs() != 1 {
		t.Fatal("the walk finds no register")
	}
	if n := testing.AllocsPerRun(100, walk); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}

func TestSearchOfARandomStackEnds(t *testing.T) {
	for _, deref := range []bool{false, true} {
		c := newProgram()
		c.deref = deref
		words := make([]uint64, maxSearchBytes/8)
		for i := range words {
			words[i] = recursive
			if i%2 == 0 {
				words[i] = 0x7000 + 8*uint64(i)
			}
		}
		var w Walker
		c.sleep(t, &w, words...)
		if w.StopReason() != StopUnproven || w.search.steps > maxSearchSteps+len(words) {
			t.Errorf("stop reason %v after %d steps, want %v", w.StopReason(), w.search.steps, StopUnproven)
		}
	}
}

func FuzzSearchAcceptsOnlyLinkedFrames(f *testing.F) {
	f.Add([]byte{3, 40, 10, 41, 12, 5})
	f.Add([]byte{1, 42, 10, 44, 12, 1, 48, 11, 2, 60, 14})
	places := []uint64{0, 1, innerCalled, outerCalled, byPointer, byFirst, recursive, otherCalled, loopCalled, farCalled,
		inInner}
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 256 {
			return
		}
		words := make([]uint64, len(b))
		for i, v := range b {
			if int(v) < len(places) {
				words[i] = places[v]
			} else {
				words[i] = 0x7000 + 8*uint64(v)
			}
		}
		c := newProgram()
		var w Walker
		got := c.sleep(t, &w, words...)
		if w.FoundRegs() == 0 {
			return
		}
		for i := 1; i < len(got); i++ {
			call, ok := c.calls[got[i]]
			inner := got[i-1]
			if i > 1 {
				inner--
			}
			if !ok || call.Direct && call.Target != inner&^0xff {
				t.Fatalf("%#x is accepted without a call of this function", got)
			}
		}
		if !w.StopReason().Complete() {
			t.Fatalf("%#x is accepted, and the walk ends with %v", got, w.StopReason())
		}
	})
}

func BenchmarkSearchForARegister(b *testing.B) {
	c := newProgram()
	s := space(c, c)
	r := &Regs{Arch: X86_64, PC: inInner}
	r.Set(X86RSP, 0x7000)
	words := make([]uint64, 8192)
	for i := range words {
		words[i] = 0x7000 + 8*uint64(i)
		if i%8 == 7 {
			words[i] = inInner + uint64(i)
		}
	}
	copy(words, []uint64{1, 0x7018, innerCalled, 0x7028, outerCalled})
	mem := stack(0x7000, words...)
	var w Walker
	for b.Loop() {
		for w.Init(s, r, mem); w.Next(); {
			continue
		}
	}
	if w.FoundRegs() != 1 {
		b.Fatal("the walk finds no register")
	}
}
