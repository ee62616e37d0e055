// SPDX-License-Identifier: Apache-2.0

package frames

import (
	"math/rand/v2"
	"testing"
)

// Ends are cut or loop; frame pointers are unknown, and rules not compact.
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
			far = 30
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

// Full caches are dropped before each step, too.
func TestWalkDoesNotDependOnWhatIsCached(t *testing.T) {
	deepest := 0
	for seed := range uint64(20000) {
		s, regs, mem := randomStack(rand.New(rand.NewPCG(seed, 7)))
		for range 2 { // at first the cache is empty
			deepest = max(deepest, compareWalks(t, seed, s, regs, mem))
		}
	}
	if deepest < 8 {
		t.Fatalf("the deepest stack has %d frames, want at least 8", deepest)
	}
}

func compareWalks(t *testing.T, seed uint64, s *Space, regs *Regs, mem *Snapshot) int {
	uncached := NewSpace(s.Arch)
	uncached.SetModules(s.Modules())
	var a, b Walker
	a.Init(s, regs, mem)
	b.Init(uncached, regs, mem)
	for n := 0; ; n++ {
		more := a.Next()
		uncached.Forget()
		if more != b.Next() || a.Frame() != b.Frame() || a.StopReason() != b.StopReason() {
			t.Fatalf("seed %d frame %d: cached %+v %v, uncached %+v %v", seed, n, a.Frame(), a.StopReason(), b.Frame(),
				b.StopReason())
		}
		if !more {
			return n
		}
		if *a.Regs() != *b.Regs() {
			t.Fatalf("seed %d frame %d: registers %+v, without a cache %+v", seed, n, a.Regs(), b.Regs())
		}
	}
}

func TestCacheIsBounded(t *testing.T) {
	var c cache
	for pc := range Addr(20 * maxEntries) {
		c.put(kindAfterCall, pc, answer{word: pc + 1})
		if a, ok := c.get(kindAfterCall, pc); !ok || a.word != pc+1 {
			t.Fatalf("the newest answer, about %#x: %+v, %v", pc, a, ok)
		}
		if a, ok := c.get(kindCall, pc); ok {
			t.Fatalf("an answer of another kind about %#x: %+v", pc, a)
		}
		if len(c.entries) > maxEntries {
			t.Fatalf("%d places, want at most %d", len(c.entries), maxEntries)
		}
	}
	c.clear()
	for pc := range Addr(20 * maxEntries) {
		if a, ok := c.get(kindAfterCall, pc); ok {
			t.Fatalf("after clear an answer about %#x: %+v", pc, a)
		}
	}
}

// 3,000 addresses are as many as of a busy server.
func TestCacheGrowsUntilFewAnswersAreReplaced(t *testing.T) {
	var c cache
	const addresses, rounds, mostMissing = 3000, 200, 30
	missing := 0
	for range rounds {
		missing = 0
		for i := range Addr(addresses) {
			pc := 0x555555554000 + 37*i*i
			if _, ok := c.get(kindAfterCall, pc); !ok {
				missing++
				c.put(kindAfterCall, pc, answer{word: 1})
			}
		}
	}
	if missing > mostMissing {
		t.Errorf("%d of %d answers are missing in a table with %d places, want at most %d", missing, addresses,
			len(c.entries), mostMissing)
	}
}

func TestCacheComparesAllBitsOfAnAddress(t *testing.T) {
	src := &fakeSource{rules: map[Addr]Rule{0x1010: {CFAReg: X86RSP, CFAOff: 8, Method: MethodCFI}}}
	s := space(src, nil)
	s.lookup(0x1010, kindAfterCall)
	for _, high := range []Addr{1 << 63, 1 << 62, 1 << 48} {
		if r := s.lookup(0x1010|high, kindAfterCall); r.mod != nil {
			t.Errorf("%#x has the rule of 0x1010: %+v", 0x1010|high, r)
		}
	}
}
