package frames

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestTrailEqualsTheWalkOnRandomStacks: random rules over random words, some of which then
// change.
func TestTrailEqualsTheWalkOnRandomStacks(t *testing.T) {
	joins := 0
	for seed := range uint64(1500) {
		rng := rand.New(rand.NewPCG(seed, 11))
		s, regs, mem := randomStack(rng)
		var p twice
		for range 20 {
			for range rng.IntN(3) {
				i := 8 * rng.IntN(len(mem.Stack.Bytes)/8)
				j := 8 * rng.IntN(len(mem.Stack.Bytes)/8)
				copy(mem.Stack.Bytes[i:i+8], mem.Stack.Bytes[j:])
			}
			again := *regs
			if rng.IntN(4) == 0 {
				again.Val[X86RBP] = 0x7000 + 8*rng.Uint64N(40)
				again.Known ^= 1 << X86RBP
			}
			p.look(t, s, &again, mem, 4+rng.IntN(30))
		}
		joins += p.joins
	}
	if joins == 0 {
		t.Fatal("nothing was ever skipped: the test tests nothing")
	}
}

func TestTrailSkipsWhatIsUnchanged(t *testing.T) {
	s, regs, mem := deepStack(50)
	var p twice
	p.look(t, s, regs, mem, -1)
	p.look(t, s, regs, mem, -1)
	if p.joins != 1 || p.skipped != 49 {
		t.Fatalf("%d joins, %d frames skipped of an unchanged stack of 50", p.joins, p.skipped)
	}
}

// TestTrailNoticesAWordThatWasRead: a saved register of frame 30, or its return address, is
// another one. Only what is further out than the frame that it leads to is skipped.
func TestTrailNoticesAWordThatWasRead(t *testing.T) {
	for word, v := range map[Addr]uint64{1: 0xdead, 2: 0xdead, 3: 0x1010} {
		s, regs, mem := deepStack(50)
		var p twice
		p.look(t, s, regs, mem, -1)
		putWord(mem, 0x7000+32*30+8*word, v)
		p.look(t, s, regs, mem, -1)
		// Where another place is returned to, one frame more differs.
		if want := map[Addr]int{1: 18, 2: 18, 3: 17}[word]; p.joins != 1 || p.skipped != want {
			t.Fatalf("word %d: %d joins, %d frames skipped, want %d", word, p.joins, p.skipped, want)
		}
	}
}

// TestTrailIgnoresAWordThatWasNeverRead: each frame's lowest word is nobody's.
func TestTrailIgnoresAWordThatWasNeverRead(t *testing.T) {
	s, regs, mem := deepStack(50)
	var p twice
	p.look(t, s, regs, mem, -1)
	for i := range Addr(50) {
		putWord(mem, 0x7000+32*i, 0xdead)
	}
	p.look(t, s, regs, mem, -1)
	if p.skipped != 49 {
		t.Fatalf("%d frames skipped", p.skipped)
	}
}

// sum is an expression that reads a word which no rule names.
type sum struct{ at, off Addr }

func (e sum) Eval(regs *Regs, mem Memory, _ uint64) (uint64, bool) {
	v, ok := mem.Word(e.at)
	return regs.SP() + e.off + v, ok
}

// TestTrailHasNoStepsThatReadMore: frame 20 is left by a rule that reads a further word. When
// that has changed, the walk goes elsewhere.
func TestTrailHasNoStepsThatReadMore(t *testing.T) {
	const special, spare = 0x8010, 0x7000 + 32*10
	ra := Place{Kind: PlaceOffset, Off: -8}
	for name, row := range map[string]*Row{
		"an expression gives the CFA":            {CFAReg: X86RSP, CFAOff: 32, CFAExpr: sum{spare, 32}, RA: ra},
		"a word gives the CFA":                   {CFAReg: X86RSP, CFAOff: 32, CFADeref: true, RA: ra},
		"an expression gives the return address": {CFAReg: X86RSP, CFAOff: 32, RA: Place{Kind: PlaceExpr, Expr: sum{spare, 24}}},
	} {
		t.Run(name, func(t *testing.T) {
			s, regs, mem := deepStack(50)
			src := s.Modules()[0].Sources[0].(*fakeSource)
			src.rules[special], src.rows = Rule{CFAReg: X86RSP, CFAOff: int32(row.CFAOff), Method: MethodCFI}, map[Addr]*Row{special: row}
			putWord(mem, 0x7000+32*19+24, special)
			changed, v := Addr(spare), uint64(0)
			if row.CFADeref { // it gives what the register alone would
				changed, v = 0x7000+32*21, 0x7000+32*21
			}
			putWord(mem, changed, v)
			var p twice
			p.look(t, s, regs, mem, -1)
			p.look(t, s, regs, mem, -1)
			if len(p.stack) != 50 {
				t.Fatalf("%d frames, %v", len(p.stack), p.with.StopReason())
			}
			putWord(mem, changed, v+32)
			p.look(t, s, regs, mem, -1)
			p.look(t, s, regs, mem, -1)
		})
	}
}

// TestTrailKeepsTheLimitOfStackSwitches: the walk gives up after so many of them.
func TestTrailKeepsTheLimitOfStackSwitches(t *testing.T) {
	s, regs, mem := deepStack(200)
	src := s.Modules()[0].Sources[0].(*fakeSource)
	src.rows = map[Addr]*Row{}
	for pc, r := range src.rules {
		r.Flags = FlagSwitch
		src.rules[pc], src.rows[pc] = r, rowOf(&r)
	}
	var p twice
	for range 3 {
		p.look(t, s, regs, mem, -1)
	}
	if p.with.StopReason() != StopLoop {
		t.Fatalf("%d frames, %v", len(p.stack), p.with.StopReason())
	}
}

func TestTrailIsOfOneSpace(t *testing.T) {
	s, regs, mem := deepStack(50)
	other, _, _ := deepStack(50)
	for _, r := range []Addr{0x1050, 0x1090} {
		other.Modules()[0].Sources[0].(*fakeSource).rules[r] = Rule{Flags: FlagRoot}
	}
	var p twice
	for range 2 {
		p.look(t, s, regs, mem, -1)
		p.look(t, other, regs, mem, -1)
	}
}

func TestTrailIsForgottenWithTheRules(t *testing.T) {
	s, regs, mem := deepStack(50)
	var p twice
	p.look(t, s, regs, mem, -1)
	s.Forget()
	p.look(t, s, regs, mem, -1)
	if p.joins != 0 {
		t.Fatal("a trail has outlived its rules")
	}
	p.look(t, s, regs, mem, -1)
	if p.joins != 1 {
		t.Fatal("the trail has not begun anew")
	}
}

// TestTrailKeepsTheLimitOfDepth: the stack grows and shrinks while the limit cuts it.
func TestTrailKeepsTheLimitOfDepth(t *testing.T) {
	s, _, mem := deepStack(400)
	for _, limits := range [][]int{{100}, {100, 150}, {150, 149, 100}} {
		var p twice
		for i, inner := range []Addr{100, 99, 90, 91, 85, 88, 95, 110, 200, 199, 198, 300, 299, 0} {
			p.look(t, s, x86Regs(0x1010+0x20*(inner%8), 0x7000+32*inner, 0), mem, limits[i%len(limits)])
		}
		// Far jumps and large changes of the limit leave nothing to skip.
		if len(limits) == 1 && p.joins != 10 {
			t.Fatalf("%d joins", p.joins)
		}
	}
}

// TestTrailFollowsACopyThatGrows: what the copy lacked the last time is walked, what it lacks
// this time ends the walk.
func TestTrailFollowsACopyThatGrows(t *testing.T) {
	s, regs, mem := deepStack(200)
	var p twice
	whole := mem.Stack.Bytes
	for _, n := range []int{1000, 1000, 2000, 2000, 1500, 1500, len(whole), len(whole), 40, 3000, 3000, 2999} {
		mem.Stack.Bytes = whole[:n]
		p.look(t, s, regs, mem, -1)
	}
	if p.joins < 6 {
		t.Fatalf("%d joins", p.joins)
	}
}

func TestTrailOfADeepStackAllocatesOnce(t *testing.T) {
	for _, n := range []int{20, 1000, 100_000} {
		s, regs, mem := deepStack(n)
		var tr Trail
		w := Walker{MaxDepth: -1}
		flip := uint64(0)
		look := func() {
			flip++
			putWord(mem, 0x7000+8, flip)
			putWord(mem, 0x7000+32+16, flip)
			depth := 0
			for tr.Init(&w, s, regs, mem); tr.Next(); depth++ {
				if tr.Join() {
					depth += tr.Skipped().N
				}
			}
			if depth != n || w.StopReason() != StopRoot {
				t.Fatalf("%d frames of %d, %v", depth, n, w.StopReason())
			}
		}
		look()
		if got := testing.AllocsPerRun(5, look); got != 0 {
			t.Fatalf("%v allocations for a walk of %d frames", got, n)
		}
		if tr.Skipped().N < n-4 {
			t.Fatalf("%d frames skipped of %d", tr.Skipped().N, n)
		}
	}
}

func TestTrailOfAnEndlessStackIsBounded(t *testing.T) {
	s, regs, mem := deepStack(maxTrail + 10)
	var p twice
	p.look(t, s, regs, mem, -1)
	p.look(t, s, regs, mem, -1)
	if p.joins != 0 || p.trail.Len() != 0 {
		t.Fatalf("%d frames kept", p.trail.Len())
	}
	if got := p.trail.Size(); got > 64<<20 {
		t.Fatalf("%d bytes", got)
	}
}

// TestTrailInFurtherPieces: the frames lie in a further piece, as those of a goroutine whose
// thread is on its scheduler's stack.
func TestTrailInFurtherPieces(t *testing.T) {
	s, regs, mem := deepStack(50)
	copied := slices.Clone(mem.Stack.Bytes)
	further := &Snapshot{Others: []Region{{Addr: 0x100, Bytes: make([]byte, 64)}, {Addr: 0x7000, Bytes: copied}}}
	var p twice
	for range 2 {
		p.look(t, s, regs, further, -1)
	}
	if p.skipped != 49 {
		t.Fatalf("%d frames skipped", p.skipped)
	}
	// A piece that comes first hides part of it.
	hiding := Region{Addr: 0x7000 + 32*20, Bytes: make([]byte, 64)}
	p.look(t, s, regs, &Snapshot{Stack: hiding, Others: further.Others}, -1)
	for range 2 {
		p.look(t, s, regs, mem, -1)
	}
	p.look(t, s, regs, &Snapshot{Others: []Region{hiding, further.Others[1]}}, -1)
}
