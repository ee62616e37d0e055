// SPDX-License-Identifier: Apache-2.0

package attribute

import (
	"math/rand/v2"
	"testing"

	"prywalk/internal/sample"
)

// TestLooksThatAreToldTogetherAddUpToTheSame holds that a thread's time is the same whether looks that found it in one
// stack are told one by one or together, and however it ran in between.
func TestLooksThatAreToldTogetherAddUpToTheSame(t *testing.T) {
	for seed := range uint64(500) {
		rng := rand.New(rand.NewPCG(seed, 7))
		var single, together book
		at := sample.Reading{Wall: 1e9}
		first := Seen{Stack: 1, State: sample.Sleeping, Wait: "futex"}
		single.c.Look(at, first, false, single.emit)
		together.c.Look(at, first, false, together.emit)
		for range rng.IntN(8) {
			looks := 1 + rng.Int64N(20)
			for range looks {
				cpu, runq := rng.Int64N(1e6)*rng.Int64N(2), rng.Int64N(1e6)*rng.Int64N(2)
				at.CPU += cpu
				at.RunQueue += runq
				at.Wall += cpu + runq + rng.Int64N(1e8)
				single.c.Look(at, first, false, single.emit)
			}
			together.c.SleptAgain(at, looks, together.emit)
			if rng.IntN(3) == 0 {
				at.CPU += 5e6
				at.Wall += 5e6
				runs := Seen{Stack: 2, State: sample.Running}
				for _, b := range []*book{&single, &together} {
					b.c.Look(at, runs, true, b.emit)
					b.c.Look(at, first, false, b.emit)
				}
			}
		}
		single.c.Finish(single.emit)
		together.c.Finish(together.emit)
		for stack := range 3 {
			a, b := single.of(stack), together.of(stack)
			if a != b {
				t.Fatalf("seed %d, stack %d: %+v one by one, %+v together", seed, stack, a, b)
			}
		}
	}
}

// of adds up the spans of a stack.
func (b *book) of(stack int) (sum Span) {
	for _, s := range b.spans {
		if int(s.Stack) == stack {
			sum.Samples += s.Samples
			sum.Wall += s.Wall
			sum.CPU += s.CPU
			sum.RunQueue += s.RunQueue
		}
	}
	return sum
}

// TestGapsInWhatIsToldTogetherAreNotObserved: half of the time nobody looked.
func TestGapsInWhatIsToldTogetherAreNotObserved(t *testing.T) {
	var th Thread
	var spans []Span
	emit := func(s Span) { spans = append(spans, s) }
	th.Begin(sample.Reading{Wall: 1e9})
	th.Add(&Look{At: sample.Reading{Wall: 1e9}, Seen: Seen{Stack: 1, State: sample.Sleeping}}, nil, emit)
	var gaps Gaps
	gaps.Add(2e9, 2e9)
	th.Extend(sample.Unchanged{Ticks: 3, Last: sample.Reading{Wall: 5e9, CPU: 4e6}, Ran: true}, gaps, emit)
	th.Finish(gaps, emit)
	var wall, unobserved int64
	for _, s := range spans {
		if wall += s.Wall; s.Leaf == NotObserved {
			unobserved += s.Wall
		}
	}
	if wall != 4e9 || unobserved != 2e9 || th.Looks != 4 {
		t.Errorf("%d ns, of these %d not observed, %d looks: %+v", wall, unobserved, th.Looks, spans)
	}
}
