package frames

import (
	"math/rand/v2"
	"testing"
)

// other hides a Snapshot's type, so that the walker takes the full step.
type other struct{ s *Snapshot }

func (o other) Word(a Addr) (uint64, bool) { return o.s.Word(a) }
func (o other) Cut(a Addr) bool            { return o.s.Cut(a) }

// randomStack makes rules and a stack that fit each other mostly, with cut and
// looping ends, unknown frame pointers and rules that are not compact.
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
			far = 30 // beyond the window that Next looks at
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

// TestQuickStepEqualsTheFullStep: the two must never differ, in frames, registers
// and stop reason.
func TestQuickStepEqualsTheFullStep(t *testing.T) {
	deepest := 0
	for seed := range uint64(20000) {
		s, regs, mem := randomStack(rand.New(rand.NewPCG(seed, 7)))
		var a, b Walker
		a.Init(s, regs, mem)
		b.Init(s, regs, other{mem})
		for n := 0; ; n++ {
			more := a.Next()
			if more != b.Next() || a.Frame() != b.Frame() || a.StopReason() != b.StopReason() {
				t.Fatalf("seed %d frame %d: quick %+v %v, full %+v %v", seed, n, a.Frame(), a.StopReason(), b.Frame(), b.StopReason())
			}
			if !more {
				deepest = max(deepest, n)
				break
			}
			if a.regs.Known != b.regs.Known || a.regs.PC != b.regs.PC {
				t.Fatalf("seed %d frame %d: registers differ", seed, n)
			}
			for reg := range uint8(NumRegs) {
				x, ok := a.Regs().Get(reg)
				if y, _ := b.Regs().Get(reg); ok && x != y {
					t.Fatalf("seed %d frame %d: register %d is %#x or %#x", seed, n, reg, x, y)
				}
			}
		}
	}
	if deepest < 8 {
		t.Fatalf("the deepest stack had %d frames: the test tests little", deepest)
	}
}
