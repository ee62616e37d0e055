package booking

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"prywalk/internal/profile"
)

// phases are the four functions in which each simulated thread spends a quarter of its life.
const phases = 4

// simulated are threads that compute from birth to death, one after the other, with pauses in between, and are looked
// at by ticks that know nothing of them. It gives the time booked to each phase, and what is left unseen, ns.
func simulated(rng *rand.Rand, life, period int64, looks int) (booked [phases]int64, used, unseen int64) {
	p := &Process{}
	book := func(s Span) { booked[s.Stack] += s.CPU }
	born := 1 + rng.Int64N(period)
	th := &Thread{BornAt: born}
	pool, last := int64(0), int64(0)
	for n := 1; n <= looks; n++ {
		now := int64(n)*period + rng.Int64N(period/4)
		for born+life <= now {
			pool += life - th.clock.last.CPU
			p.ended(th)
			used += life
			born += life + rng.Int64N(period)
			th = &Thread{BornAt: born}
		}
		if age := now - born; age >= 0 {
			b := Look{
				At:    Reading{Wall: now, CPU: age},
				Seen:  Seen{Stack: profile.StackID(age * phases / life), State: Running, Whole: true},
				OnCPU: true, Apart: now - last,
			}
			if !th.clock.started {
				th.clock.Begin(th.birth(b.At))
			}
			th.firstMet(&b)
			th.clock.Look(b.At, b.Seen, b.OnCPU, book)
		}
		last = now
	}
	used += th.clock.last.CPU // of the one that lives on, and makes no claim
	unseen = p.claims.pay(pool+p.givenBack, func(k claim, ns int64) { booked[k.where.Stack] += ns })
	return booked, used, unseen
}

// TestSharesOfShortLivesAreTrue: of lives from a tenth of a tick to a hundred ticks. A look of a thread that lives for
// less than a tick is one of a binomial distribution; longer lives vary less. Each of the 11 lives has four shares,
// which may be six standard errors off: once in 10 million runs of this test, were they drawn anew; they are not.
func TestSharesOfShortLivesAreTrue(t *testing.T) {
	const period, looks = 10_000_000, 20_000
	for _, ticks := range []float64{0.1, 0.2, 0.5, 0.8, 1, 1.5, 3, 5, 10, 30, 100} {
		t.Run(fmt.Sprint(ticks), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(1, uint64(ticks*10)))
			life := int64(ticks*period) + 1
			booked, used, unseen := simulated(rng, life, period, looks)
			total := unseen
			for _, ns := range booked {
				total += ns
			}
			if total != used {
				t.Errorf("%d ns in all, want %d", total, used)
			}
			met := float64(used) / period
			limit := 6 * math.Sqrt(0.25*0.75/met)
			for i, ns := range booked {
				if share := float64(ns) / float64(total-unseen); math.Abs(share-0.25) > limit {
					t.Errorf("phase %d has %.4f, want 0.25 within %.4f", i, share, limit)
				}
			}
			// What is left is the difference of two sums of the same expectation.
			if share := float64(unseen) / float64(total); share > 6/math.Sqrt(met) {
				t.Errorf("%.4f unseen", share)
			}
		})
	}
}

// TestClaimsArePaidToTheLastNanosecond and never more than there is.
func TestClaimsArePaidToTheLastNanosecond(t *testing.T) {
	for _, c := range []struct{ pool, left int64 }{{0, 0}, {1, 0}, {10, 0}, {599, 0}, {600, 0}, {607, 7}, {-5, -5}} {
		var all claims
		for i := range 3 {
			all.add(Seen{Stack: profile.StackID(i)}, int64(i)*1e9, 100)
			all.add(Seen{Stack: profile.StackID(i)}, int64(i)*1e9+5, 100)
			all.add(Seen{Stack: profile.StackID(i)}, 0, -7)
		}
		paid := int64(0)
		left := all.pay(c.pool, func(k claim, ns int64) {
			if paid += ns; ns <= 0 || ns > 200 {
				t.Errorf("%d of %v", ns, k)
			}
		})
		if left != c.left || paid != max(min(c.pool, 600), 0) {
			t.Errorf("pool %d: %d paid, %d left", c.pool, paid, left)
		}
	}
}

// TestOnlyThreadsWhoseWholeLifeIsKnownClaim: others have used nothing that is in the pool.
func TestOnlyThreadsWhoseWholeLifeIsKnownClaim(t *testing.T) {
	at := Look{At: Reading{Wall: 1e9, CPU: 3e6}, OnCPU: true, Apart: 10e6}
	for what, th := range map[string]*Thread{"one that was there before": {}, "one that slept": {BornAt: 1}} {
		p, b := &Process{}, at
		b.OnCPU = th.BornAt == 0
		if th.firstMet(&b); th.claim.ns != 0 {
			t.Errorf("%s claims %d", what, th.claim.ns)
		}
		if p.ended(th); p.claims.total != 0 {
			t.Errorf("%s has claimed %d", what, p.claims.total)
		}
	}
	p, th := &Process{}, &Thread{BornAt: 1}
	for range 3 { // only the first look
		th.firstMet(&at)
	}
	if p.ended(th); p.claims.total != 7e6 {
		t.Errorf("%d claimed, want 7 ms", p.claims.total)
	}
}

// TestWhatAShortLifeCarriedGoesBack: to the pool, where a long life's goes to where it was seen last.
func TestWhatAShortLifeCarriedGoesBack(t *testing.T) {
	for _, c := range []struct{ looks, back int64 }{{3, 5e6}, {longLife, 0}} {
		p, th := &Process{}, &Thread{BornAt: 1, Looks: c.looks}
		th.clock.Begin(Reading{})
		th.clock.Look(Reading{Wall: 10e6, CPU: 5e6}, Seen{State: Sleeping}, false, func(Span) {})
		if p.ended(th); p.givenBack != c.back {
			t.Errorf("%d looks: %d given back, want %d", c.looks, p.givenBack, c.back)
		}
	}
}
