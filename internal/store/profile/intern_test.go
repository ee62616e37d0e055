// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"math/rand/v2"
	"testing"
)

func TestStackOfNumberedLocationsIsTheSameStack(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	b := NewBuilder(Meta{})
	for range 2000 {
		stack := make([]Loc, rng.IntN(60))
		ids := make([]LocID, len(stack))
		for i := range stack {
			stack[i] = Loc{Module: testMain, Addr: 0x400000 + 16*rng.Uint64N(50)}
			if rng.IntN(10) == 0 {
				stack[i] = Loc{Synthetic: "[not observed]"}
			}
			ids[i] = b.Loc(&stack[i])
		}
		got, want := b.InternLocs(ids), b.Intern(stack)
		if got != want {
			t.Fatalf("stack %d, want %d, of %d entries", got, want, len(stack))
		}
		leaf := append([]Loc{{Synthetic: "[ran between ticks]"}}, stack...)
		if got, want := b.InternLeaf(got, "[ran between ticks]"), b.Intern(leaf); len(stack) > 0 && got != want {
			t.Fatalf("with a leaf stack %d, want %d", got, want)
		}
	}
}
