package booking

import (
	"math/rand/v2"
	"testing"

	"prywalk/internal/profile"
)

// spans adds up what is booked: by stack, and what has none.
type spans struct {
	under map[profile.StackID]int64
	rest  int64
}

func (b *spans) add(s Span) {
	if s.Leaf == ShortLivedChildren {
		b.rest += s.CPU
		return
	}
	b.under[s.Stack] += s.CPU
}

func (b *spans) sum() (n int64) {
	for _, ns := range b.under {
		n += ns
	}
	return n + b.rest
}

func ranIn(stack profile.StackID) Seen { return Seen{Stack: stack, State: Running, Program: "ls"} }

// TestTimeOfChildrenIsSharedOutAmongTheirSamples: all of it, as far as the number of samples can differ by chance, and
// never more than there is.
func TestTimeOfChildrenIsSharedOutAmongTheirSamples(t *testing.T) {
	for _, c := range []struct {
		name        string
		samples     int // of 10 each, a quarter of them in stack 2
		pool, least int64
		rest        int64
	}{
		{"as many as are expected", 100, 1000, 1000, 0},
		{"fewer by chance", 100, 1190, 1190, 0},
		{"fewer than chance explains", 100, 1500, 1200, 300},
		{"more", 100, 700, 700, 0},
		{"none", 0, 700, 0, 700},
		{"no time", 100, 0, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, b := &Process{}, &spans{under: map[profile.StackID]int64{}}
			for i := range c.samples {
				stack := profile.StackID(1)
				if i%4 == 0 {
					stack = 2
				}
				p.ClaimOfChild(ranIn(stack), 5e9, 10)
			}
			p.Children(c.pool, 9e9, b.add)
			if b.rest != c.rest || b.under[1]+b.under[2] != c.least || b.sum() != c.pool {
				t.Errorf("%v and %d", b.under, b.rest)
			}
			if n := b.under[1] + b.under[2]; n > 0 && (b.under[2] < n/4 || b.under[2] > n/4+1) {
				t.Errorf("%v", b.under)
			}
			if again := (&spans{under: map[profile.StackID]int64{}}); true {
				p.Children(0, 9e9, again.add)
				if again.sum() != 0 {
					t.Errorf("booked twice: %v", again)
				}
			}
		})
	}
}

// TestShortChildrenArePooled: 1,000 children of 1 ms with three functions of 0.5, 0.3 and 0.2 ms. A tenth of them has a
// sample, which stands for 10 ms: their own clocks bear a tenth of it. Together they have it all. The first half is
// met, the others not, and each tenth is a process of its own with children. A share of 100 samples has a standard
// error of at most 5 points; the bound is two of them. The random numbers are the same in each run.
func TestShortChildrenArePooled(t *testing.T) {
	const period, life, n = 10e6, 1e6, 1000
	random := rand.New(rand.NewPCG(7, 11))
	shell, b := &Process{}, &spans{under: map[profile.StackID]int64{}}
	unmet := int64(0)
	for i := range n {
		seen, sampled := ranIn(1), random.Float64() < life/period
		if x := random.Float64(); x > 0.8 {
			seen.Stack = 3
		} else if x > 0.5 {
			seen.Stack = 2
		}
		switch kid := (&Process{}); {
		case i%10 == 9: // a shell of its own, and short, with a child that nobody met
			if sampled {
				kid.ClaimOfChild(seen, 1e9, period)
			}
			kid.PassChildrenTo(shell, life)
		case i < n/2:
			if sampled {
				kid.Claim(Seen{Stack: seen.Stack, State: Running}, 1e9, period)
			}
			if !kid.PassTo(shell, life, period, "ls") {
				t.Fatal("a short child keeps its time")
			}
		default:
			if sampled {
				shell.ClaimOfChild(seen, 1e9, period)
			}
			unmet += life
		}
	}
	shell.Children(unmet, 9e9, b.add)
	if b.sum() != n*life {
		t.Errorf("%d ns are booked", b.sum())
	}
	for stack, share := range map[profile.StackID]float64{1: 0.5, 2: 0.3, 3: 0.2} {
		if got := float64(b.under[stack]) / (n * life); got < share-0.1 || got > share+0.1 {
			t.Errorf("%.3f is in function %d, not %v", got, stack, share)
		}
	}
	if b.rest > n*life/10 {
		t.Errorf("%d ns have no function", b.rest)
	}
}

func TestChildWithSamplesEnoughKeepsItsTime(t *testing.T) {
	kid, shell := &Process{used: 100}, &Process{}
	kid.Claim(ranIn(1), 1e9, 10)
	if kid.PassTo(shell, 60, 10, "cc1") || kid.claims.total != 10 || shell.kids.total != 0 || shell.passedOn != 0 {
		t.Errorf("%+v, %+v", kid, shell)
	}
}
