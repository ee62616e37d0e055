// SPDX-License-Identifier: Apache-2.0

package booking

import (
	"math"
	"math/rand/v2"
	"prywalk/frames"
	"testing"

	"prywalk/internal/profile"
)

func TestClocksBetweenTwoReadings(t *testing.T) {
	from := Reading{Wall: 1000, CPU: 500, RunQueue: 10}
	for name, c := range map[string]struct {
		to   Reading
		at   int64
		want Reading
	}{
		"it ran all the time":     {Reading{2000, 1500, 10}, 1300, Reading{1300, 800, 10}},
		"it slept all the time":   {Reading{2000, 500, 10}, 1300, Reading{1300, 500, 10}},
		"it ran half of the time": {Reading{2000, 1000, 110}, 1500, Reading{1500, 750, 60}},
		"nearly all the time":     {Reading{2000, 1490, 10}, 1990, Reading{1990, 1480, 10}},
		"before":                  {Reading{2000, 1000, 10}, 900, Reading{1000, 500, 10}},
		"after":                   {Reading{2000, 1000, 10}, 2100, Reading{2000, 1000, 10}},
		"at once":                 {Reading{1000, 700, 10}, 1000, Reading{1000, 700, 10}},
	} {
		if got := from.Between(c.to, c.at); got != c.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestThreadThatFellAsleepRanUntilThen(t *testing.T) {
	from := Reading{Wall: 1000, CPU: 500, RunQueue: 10}
	for name, c := range map[string]struct {
		to   Reading
		want int64
	}{
		"it ran first":       {Reading{2000, 700, 10}, 1200},
		"and was queued":     {Reading{2000, 700, 110}, 1300},
		"it ran all along":   {Reading{2000, 1500, 10}, 2000},
		"clocks that lagged": {Reading{2000, 1700, 10}, 2000},
		"never":              {Reading{2000, 500, 10}, 1000},
	} {
		got, want := from.UntilAsleep(c.to), c.to
		if want.Wall = c.want; got != want {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestTimeOfAThreadThatWasNeverSeenIsNotObserved: it was found running, and then unchanged or queued, and no sample of
// it came. It must not be booked under the stack of whoever was seen first.
func TestTimeOfAThreadThatWasNeverSeenIsNotObserved(t *testing.T) {
	for name, rest := range map[string]Reading{
		"ran":    {Wall: 9e6, CPU: 8e6},
		"queued": {Wall: 9e6, CPU: 2e6, RunQueue: 6e6},
		"slept":  {Wall: 9e6, CPU: 1e6},
	} {
		p, th := &Process{}, &Thread{}
		var cpu, runq, wall int64
		book := func(s Span) {
			if s.Leaf != NotObserved || s.Samples != 0 {
				t.Errorf("%s: %+v", name, s)
			}
			cpu, runq, wall = cpu+s.CPU, runq+s.RunQueue, wall+s.Wall
		}
		th.BeginAt(Reading{})
		th.Extend(Unchanged{Ticks: 2, Last: Reading{Wall: 1e6}}, nil, nil)
		p.EndThread(th, &End{Alive: true, Rest: rest, Patience: 1e9}, book)
		p.FinishThread(th, Gaps{}, book)
		if cpu != rest.CPU || runq != rest.RunQueue || wall < cpu+runq || wall > rest.Wall {
			t.Errorf("%s: %d ns of cpu, %d queued, %d in all", name, cpu, runq, wall)
		}
	}
}

// TestQueueTimeThatComesLateIsNotBookedTwice: a thread that never sleeps was sampled, and then queued when its clocks
// were read. Between the readings it seemed to sleep for 4 ms; the next reading says that it was queued.
func TestQueueTimeThatComesLateIsNotBookedTwice(t *testing.T) {
	var c Clock
	wall := int64(0)
	book := func(s Span) {
		if wall += s.Wall; s.State != Running {
			t.Errorf("it never slept: %+v", s)
		}
	}
	c.Begin(Reading{})
	c.Look(Reading{Wall: 10e6, CPU: 6e6}, Seen{State: Running}, true, book)
	c.Look(Reading{Wall: 20e6, CPU: 12e6, RunQueue: 8e6}, Seen{State: Running}, true, book)
	if c.Finish(book); wall != 20e6 {
		t.Errorf("%d ns of 20e6", wall)
	}
}

func FuzzBetween(f *testing.F) {
	f.Add(int64(1), int64(2), int64(3), int64(4), int64(5))
	f.Fuzz(func(t *testing.T, wall, cpu, length, ran, at int64) {
		const most = int64(1) << 50
		wall, cpu, length, ran = wall&(most-1), cpu&(most-1), length&(most-1), ran&(most-1)
		from := Reading{Wall: wall, CPU: cpu}
		to := Reading{Wall: wall + length, CPU: cpu + min(ran, length)}
		if got := from.Between(to, at); got.Wall < from.Wall || got.Wall > to.Wall || got.CPU < from.CPU || got.CPU > to.CPU {
			t.Errorf("%+v to %+v at %d: %+v", from, to, at, got)
		}
	})
}

// sampledLives are threads one after the other, sampled at fixed moments that know nothing of them, and with clocks
// that are read at ticks. It gives the time booked to each phase, what they used, and what is left unseen, ns.
func sampledLives(rng *rand.Rand, life, period int64, samples int) (booked [phases]int64, used, unseen int64) {
	p := &Process{}
	book := func(s Span) { booked[s.Stack] += s.CPU }
	seen := func(age int64) Seen {
		return Seen{Stack: profile.StackID(age * phases / life), State: Running, Stop: frames.StopRoot}
	}
	end, pool := int64(samples)*period, int64(0)
	for born := rng.Int64N(period); born < end; born += life + rng.Int64N(period) {
		th := &Thread{BornAt: born}
		read := Reading{Wall: born}
		var waiting []int64
		next := born - born%period + period
		for tick := born - born%period + period + period/3; ; tick += period { // clocks are read a third later
			for ; next < min(tick, born+life); next += period {
				waiting = append(waiting, next)
			}
			if tick >= born+life {
				break
			}
			now := Reading{Wall: tick, CPU: tick - born}
			for _, at := range waiting {
				l := Look{At: read.Between(now, at), Seen: seen(at - born), OnCPU: true, Apart: period}
				if !th.begun {
					th.Begin(l.At)
				}
				th.book(&l, Gaps{}, book)
			}
			read, waiting = now, waiting[:0]
		}
		for _, at := range waiting {
			p.Claim(seen(at-born), at, period)
		}
		used += life
		pool += life - th.clock.last.CPU
		p.ended(th)
	}
	unseen = p.payClaims(pool+p.givenBack, true, func(k claim, ns int64) { booked[k.where.Stack] += ns })
	return booked, used, unseen
}

// TestSharesOfSampledShortLivesAreTrue: of lives from a tenth of a period to a hundred. The bounds are those of
// TestSharesOfShortLivesAreTrue.
func TestSharesOfSampledShortLivesAreTrue(t *testing.T) {
	const period, samples = 10_000_000, 20_000
	for _, periods := range []float64{0.1, 0.2, 0.5, 0.8, 1, 1.5, 3, 5, 10, 30, 100} {
		rng := rand.New(rand.NewPCG(2, uint64(periods*10)))
		life := int64(periods*period) + 1
		booked, used, unseen := sampledLives(rng, life, period, samples)
		total := unseen
		for _, ns := range booked {
			total += ns
		}
		if total != used {
			t.Errorf("%v periods: %d ns in all, want %d", periods, total, used)
		}
		met := float64(used) / period
		limit := 6 * math.Sqrt(0.25*0.75/met)
		for i, ns := range booked {
			if share := float64(ns) / float64(total-unseen); math.Abs(share-0.25) > limit {
				t.Errorf("%v periods: phase %d has %.4f, want 0.25 within %.4f", periods, i, share, limit)
			}
		}
		if share := float64(unseen) / float64(total); share > 6/math.Sqrt(met) {
			t.Errorf("%v periods: %.4f unseen", periods, share)
		}
	}
}
