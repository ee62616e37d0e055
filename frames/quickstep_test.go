// SPDX-License-Identifier: Apache-2.0

package frames

import (
	"math/rand/v2"
	"reflect"
	"testing"
)

// other hides the type of a Snapshot, so that the walker takes the full step.
type other struct{ s *Snapshot }

func (o other) Word(a Addr) (uint64, bool) { return o.s.Word(a) }
func (o other) Cut(a Addr) bool            { return o.s.Cut(a) }

// randomStack returns rules and a stack that fit each other mostly, with cut and looping ends, unknown frame pointers
// and rules that are not compact.
func randomStack(rng *rand.Rand) (*Space, *Regs, *Snapshot) {
	src := &fakeSource{rules: map[Addr]Rule{}, rows: map[Addr]*Row{}}
	n := 2 + rng.IntN(30)
	words := make([]uint64, 40+rng.IntN(200))
	for i := range words {
		switch rng.IntN(3) {
		case 0:
			words[i] = 0x7000 + 8*rng.Uint64N(uint64(len(words)))
		case 1:
			words[i] = 0x1000 + 0x10*rng.Uint64N(uint64(n))
		}
	}
	for i := range n {
		r := Rule{CFAReg: X86RSP, CFAOff: int32(8 * (1 + rng.IntN(9))), Method: MethodCFI}
		if rng.IntN(4) == 0 {
			r.CFAReg, r.CFAOff = X86RBP, 16
		}
		far := 7
		switch rng.IntN(16) {
		case 0:
			far = 30 // beyond the window of Next
		case 1:
			r.CFAReg = X86RBX
		}
		for j := range 6 {
			if rng.IntN(3) == 0 {
				r.Saved[j] = uint8(1 + rng.IntN(far))
			}
		}
		switch rng.IntN(12) {
		case 0:
			r.Flags = FlagRoot
		case 1:
			r.Method = MethodHeuristic
		case 2:
			continue // no rule: the frame pointer is needed
		case 3, 4:
			src.rows[Addr(0x1000+0x10*i)] = lossy(rng, &r)
		case 5, 6, 7:
			src.rows[Addr(0x1000+0x10*i)] = keeping(rng, &r)
		}
		src.rules[Addr(0x1000+0x10*i)] = r
	}
	calls := &fakeCalls{calls: map[Addr]Call{}}
	for i := range n {
		calls.calls[Addr(0x1000+0x10*i)] = Call{}
	}
	regs := x86Regs(0x1000+0x10*rng.Uint64N(uint64(n)), 0x7000, 0x7000+8*rng.Uint64N(40))
	if rng.IntN(3) == 0 {
		regs.Known = 1 << X86RSP
	}
	return space(src, calls), regs, stack(0x7000, words...)
}

// lossy returns a row in which registers are lost, as in code of JIT compilers.
func lossy(rng *rand.Rand, r *Rule) *Row {
	r.Method = MethodHeuristic
	row := &Row{CFAReg: r.CFAReg, CFAOff: int64(r.CFAOff), RA: RegRule{Kind: RuleOffset, Off: -8}}
	for _, reg := range []uint8{X86RBP, X86RBX, X86R12, X86R13, X86R14, X86R15, X86RAX} {
		switch rng.IntN(3) {
		case 0:
			row.Regs[reg].Kind = RuleUndefined
		case 1:
			row.Regs[reg] = RegRule{Kind: RuleOffset, Off: -8 * int64(1+rng.IntN(7))}
		}
	}
	return row
}

// keeping returns a row of frames that keep their caller's stack pointer, or a similar row.
func keeping(rng *rand.Rand, r *Rule) *Row {
	near := func(mid int64) int64 {
		switch rng.IntN(20) {
		case 0:
			return 8 * (rng.Int64N(40) - 20)
		case 1:
			return 8*mid + 4
		}
		return 8 * mid
	}
	*r = Rule{CFAReg: X86RBP, Method: MethodCFI}
	row := &Row{CFAReg: X86RBP, CFADeref: true, CFAOff: near(-1), RA: RegRule{Kind: RuleRegOffset, Reg: X86RBP,
		Off: near(1)}}
	row.Regs[X86RBP] = RegRule{Kind: RuleRegOffset, Reg: X86RBP, Off: near(0)}
	for _, reg := range []uint8{X86RBX, X86R12, X86R13, X86R14, X86R15} {
		if rng.IntN(2) == 0 {
			row.Regs[reg].Kind = RuleUndefined
		}
	}
	switch rng.IntN(30) {
	case 0:
		row.Regs[X86RBP] = RegRule{}
	case 1:
		row.Regs[X86RBX] = RegRule{Kind: RuleRegOffset, Reg: X86RBP, Off: -16}
	case 2:
		row.Regs[X86RAX].Kind = RuleUndefined
	case 3:
		row.RA = RegRule{Kind: RuleOffset, Off: -8}
	case 4:
		r.Method = MethodHeuristic
	case 5:
		row.CFADeref = false
	case 6:
		r.CFAReg = X86RSP
	}
	return row
}

// They agree in frames, registers and stop reason.
func TestQuickStepEqualsTheFullStep(t *testing.T) {
	deepest := 0
	for seed := range uint64(20000) {
		s, regs, mem := randomStack(rand.New(rand.NewPCG(seed, 7)))
		for range 2 { // the quick step needs cached callers
			deepest = max(deepest, compareSteps(t, seed, s, regs, mem))
		}
	}
	if deepest < 8 {
		t.Fatalf("the deepest stack has %d frames, want at least 8", deepest)
	}
}

// compareSteps walks a stack by quick steps and by full ones, and returns the number of frames.
func compareSteps(t *testing.T, seed uint64, s *Space, regs *Regs, mem *Snapshot) int {
	var a, b Walker
	a.Init(s, regs, mem)
	b.Init(s, regs, other{mem})
	for n := 0; ; n++ {
		more := a.Next()
		if more != b.Next() || a.Frame() != b.Frame() || a.StopReason() != b.StopReason() {
			t.Fatalf("seed %d frame %d: quick %+v %v, full %+v %v", seed, n, a.Frame(), a.StopReason(), b.Frame(),
				b.StopReason())
		}
		if !more {
			return n
		}
		if a.regs.Known != b.regs.Known || a.regs.PC != b.regs.PC {
			t.Fatalf("seed %d frame %d: registers differ: quick %#x, full %#x", seed, n, a.regs.Known, b.regs.Known)
		}
		for reg := range uint8(NumRegs) {
			x, ok := a.Regs().Get(reg)
			if y, _ := b.Regs().Get(reg); ok && x != y {
				t.Fatalf("seed %d frame %d: register %d is %#x by quick steps, %#x by full ones", seed, n, reg, x, y)
			}
		}
	}
}

// Rows of JIT compilers' code would fill the table of rows, and need the full step.
func TestRowsThatLoseRegistersNeedNoTable(t *testing.T) {
	row := &Row{CFAReg: X86RBP, CFAOff: 16, RA: RegRule{Kind: RuleOffset, Off: -8}}
	row.Regs[X86RBP] = RegRule{Kind: RuleOffset, Off: -16}
	row.Regs[X86RBX].Kind = RuleUndefined
	src := &fakeSource{rules: map[Addr]Rule{0x1010: {Method: MethodFP}}, rows: map[Addr]*Row{0x1010: row}}
	s := space(src, nil)
	e := s.lookup(0x1010, false, false)
	plain := e.quick.plain && e.quick.stillKnown&(1<<X86RBX) == 0
	if e.rule.Flags != FlagLosesRegs || !plain || len(s.rows) != 0 || e.rule.Saved[0] != 2 {
		t.Fatalf("entry %+v, %d rows; want a rule with FlagLosesRegs, no row", e, len(s.rows))
	}
	restored := *row
	restored.Regs[X86RAX] = RegRule{Kind: RuleOffset, Off: -24}
	src.rows[0x1020], src.rules[0x1020] = &restored, Rule{Method: MethodFP}
	if e := s.lookup(0x1020, false, false); e.rule.Flags != FlagRow {
		t.Fatalf("a row that restores a scratch register became the rule %+v", e.rule)
	}
}

// A new field must keep the size.
func TestEntriesFillOneCacheLineEach(t *testing.T) {
	if n := reflect.TypeFor[cacheEntry]().Size(); n != 64 {
		t.Fatalf("an entry has %d bytes, want 64", n)
	}
	s := NewSpace(X86_64)
	for s.cache.bits < maxBits {
		if at := reflect.ValueOf(s.cache.slots).Pointer(); at%64 != 0 {
			t.Fatalf("a cache of %d entries begins at %#x, want a multiple of 64", len(s.cache.slots), at)
		}
		s.cache.grow()
	}
}

// The cache is small for few rules, keeps rules when it grows, and has a largest size.
func TestCacheGrowsWithItsRules(t *testing.T) {
	src := &fakeSource{}
	s := space(src, nil)
	if len(s.cache.slots) != setSize<<minBits {
		t.Errorf("a new cache has %d entries, want %d", len(s.cache.slots), setSize<<minBits)
	}
	for pc := range Addr(100) {
		s.lookup(0x1000+pc, true, false)
	}
	for pc := range Addr(100) {
		if s.cache.get(cacheKey(0x1000+pc, true, false)) == nil {
			t.Fatalf("the rule of %#x is not in %d entries", 0x1000+pc, len(s.cache.slots))
		}
	}
	if len(s.cache.slots) > 1024 {
		t.Errorf("%d entries for 100 rules, want at most 1024", len(s.cache.slots))
	}
	for pc := range Addr(20000) {
		s.lookup(0x1000+pc, true, false)
	}
	if len(s.cache.slots) != setSize<<maxBits {
		t.Errorf("the largest cache has %d entries, want %d", len(s.cache.slots), setSize<<maxBits)
	}
}

func TestForgetEmptiesTheCache(t *testing.T) {
	s := space(&fakeSource{}, nil)
	for _, n := range []Addr{1, 200, 20000} {
		for pc := range n {
			s.lookup(0x1000+pc, true, false)
		}
		s.Forget()
		for i := range s.cache.slots {
			if s.cache.slots[i] != (cacheEntry{}) {
				t.Fatalf("after %d rules and Forget, slot %d holds %+v", n, i, s.cache.slots[i])
			}
		}
	}
}
