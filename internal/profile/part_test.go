package profile

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// deepLocs gives n entries of a few functions.
func deepLocs(n int) []Loc {
	out := make([]Loc, n)
	for i := range out {
		out[i] = Loc{Module: testMain, Addr: 0x400000 + 16*uint64(i%50)}
	}
	return out
}

// TestStackWithAKnownPartIsTheSameStack: however a stack is cut into new and known entries, it
// gets the number that Intern gives it.
func TestStackWithAKnownPartIsTheSameStack(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	b := NewBuilder(Meta{})
	for range 2000 {
		old := deepLocs(1 + rng.IntN(60))
		rng.Shuffle(len(old), func(i, j int) { old[i], old[j] = old[j], old[i] })
		from := rng.IntN(len(old))
		p := Part{b.Intern(old), from, rng.IntN(len(old) - from + 1)}
		inner, outer := deepLocs(rng.IntN(5)), deepLocs(rng.IntN(5))
		whole := slices.Concat(inner, old[p.From:p.From+p.N], outer)
		got := b.InternAround(inner, p, outer)
		if want := b.Intern(whole); got != want {
			t.Fatalf("stack %d, want %d, of %d entries, %+v of %d, %d", got, want, len(inner), p, len(old), len(outer))
		}
	}
	if b.InternAround(nil, Part{}, nil) != b.Intern(nil) {
		t.Fatal("an empty stack is another one")
	}
}

// BenchmarkIntern numbers stacks whose two innermost entries alternate, the others being
// looked up or known.
func BenchmarkIntern(b *testing.B) {
	for _, n := range []int{20, 100, 1000, 10_000} {
		stack := deepLocs(n)
		bld := NewBuilder(Meta{})
		id := bld.Intern(stack)
		i := uint64(0)
		change := func() {
			i++
			stack[0].Addr, stack[1].Addr = 0x400000+16*(i%50), 0x400000+16*(i/50%50)
		}
		run := func(name string, intern func()) {
			b.Run(fmt.Sprintf("depth=%d/%s", n, name), func(b *testing.B) {
				for range 2500 {
					change()
					intern()
				}
				b.ReportAllocs()
				for b.Loop() {
					change()
					intern()
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/frame")
			})
		}
		run("whole", func() { bld.Intern(stack) })
		run("part", func() { bld.InternAround(stack[:2], Part{id, 2, n - 2}, nil) })
	}
}
