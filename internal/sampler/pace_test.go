package sampler

import (
	"math/rand/v2"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// budgetRun simulates targets of which some threads run, and whose freezes are mostly
// short and sometimes very long. It gives the account and the number of ticks done.
func budgetRun(t *testing.T, share, freq float64, seed uint64) (p pace, ticks int64) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 7))
	p = newPace(&Options{Freq: freq, MaxOverhead: share}, 2)
	sched := newSchedule(0, freq)
	ran, last, running, tickLoss := 0.0, int64(0), 1, 0.0
	for now := int64(0); now < 60e9; {
		if rng.IntN(200) == 0 {
			running = rng.IntN(5)
		}
		ran += float64(now-last) * float64(running)
		last = now
		p.ranTo(int64(ran))
		if p.overdrawn() > tickLoss {
			t.Fatalf("at %v targets have lost %v more than they may, in the last tick %v", time.Duration(now), p.overdrawn(), tickLoss)
		}
		if p.overdrawn() == 0 {
			ticks++
			before := p.lost
			for range running {
				length := 15e3 + rng.Int64N(30e3)
				if rng.IntN(500) == 0 {
					length = rng.Int64N(8e6)
				}
				p.froze(length)
			}
			tickLoss = p.lost - before
		}
		sched.setRate(now, p.rate(now))
		now = sched.next(now)
	}
	return p, ticks
}

func TestTargetsLoseNoMoreThanTheirBudgetAtAnyTime(t *testing.T) {
	for seed := range uint64(20) {
		for _, share := range []float64{0.0005, 0.01, 0.05} {
			p, ticks := budgetRun(t, share, 1000, seed)
			if used := p.lost / (share * p.ran); used < 0.5 && ticks < 50_000 {
				t.Errorf("of %v only %.2f was used in %d ticks", share, used, ticks)
			}
		}
	}
}

func TestBudgetThatIsNotUsedUpLeavesTheRate(t *testing.T) {
	p, ticks := budgetRun(t, 0.9, 100, 1)
	if ticks < 5900 {
		t.Errorf("%d ticks in a minute at 100 a second", ticks)
	}
	if p.overdrawn() != 0 {
		t.Errorf("%v overdrawn", p.overdrawn())
	}
}

func TestWithoutABudgetTheRateIsThatAskedFor(t *testing.T) {
	p := newPace(&Options{Freq: 777}, 2)
	p.froze(1e9)
	if p.rate(1e9) != 777 || p.overdrawn() != 0 {
		t.Errorf("%v/s, %v overdrawn", p.rate(1e9), p.overdrawn())
	}
}

// TestPrywalksOwnTimeIsKeptWithinTheShareOfAllProcessors: in a process that sleeps
// nobody loses by stops, but prywalk takes time.
func TestPrywalksOwnTimeIsKeptWithinTheShareOfAllProcessors(t *testing.T) {
	p := newPace(&Options{Freq: 1000, MaxOverhead: 0.02}, 4)
	self := int64(0)
	for range selfStart {
		self += 20e6 // tables are read
		p.ticked(self)
	}
	if r := p.rate(1e9); r != 1000 {
		t.Errorf("%v/s because of how it began", r)
	}
	for range 100 {
		self += 1e6
		p.ticked(self)
	}
	if r := p.rate(1e9); r < 79 || r > 81 { // of four seconds 80 ms, 1 ms a tick
		t.Errorf("%v/s with 1 ms a tick", r)
	}
	for range 1000 {
		self += 1e9
		p.ticked(self)
	}
	if r := p.rate(1e9); r != leastRate {
		t.Errorf("%v/s", r)
	}
}

// TestBudgetHoldsWithSeveralThreadsThatRun: the recording's own figures.
func TestBudgetHoldsWithSeveralThreadsThatRun(t *testing.T) {
	const share = 0.002
	target := start(t, "burners", "4")
	r := recordUntil(t, Options{Freq: 1000, MaxOverhead: share}, func(r *recorded) bool { return r.Seconds > 2 && r.Frozen > 20 }, target.pid)
	// The first account is drawn up at the second tick, and the last looks are made
	// without one: twice the looks of one tick can be too many.
	surplus := 2 * 4 * (seconds(r.FreezeMax) + stopCost/1e9)
	if r.Lost > share*r.TargetCPU+surplus {
		t.Errorf("%v s lost of %v s", r.Lost, r.TargetCPU)
	}
	if r.Frozen == 0 || r.Freq > 500 { // a freeze costs 10 µs at least, which is 200 a second
		t.Errorf("%d frozen, %v/s", r.Frozen, r.Freq)
	}
	if least := float64(r.Frozen) * stopCost / 1e9; r.Lost < least {
		t.Errorf("%v s lost by %d freezes", r.Lost, r.Frozen)
	}
	total := int64(0)
	for _, b := range r.Freezes {
		total += b.N
	}
	if last := r.Freezes[len(r.Freezes)-1]; total != r.Frozen || last.Below <= r.FreezeMax || last.Below/2 > r.FreezeMax {
		t.Errorf("%v of %d freezes, the longest %d", r.Freezes, r.Frozen, r.FreezeMax)
	}
	if r.FreqAsked != 1000 || r.MaxOverhead != share {
		t.Errorf("asked for: %v/s, %v", r.FreqAsked, r.MaxOverhead)
	}
}

// TestProcessThatEndsWhileTicksAreWithheldEndsTheRun: nobody repays its debt.
func TestProcessThatEndsWhileTicksAreWithheldEndsTheRun(t *testing.T) {
	target := start(t, "ends")
	r := record(t, Options{Freq: 1000, MaxOverhead: 1e-9}, patience, func(s *Sampler) {
		frozen(t, s, 1)
		await(t, "ticks are withheld", func() bool { return s.Progress().Withheld > 0 })
		target.signal(t, unix.SIGUSR1)
	}, target.pid)
	if r.Seconds > 0.9*patience.Seconds() || r.Withheld == 0 {
		t.Errorf("%v s, %d ticks withheld", r.Seconds, r.Withheld)
	}
}

// TestEveryThreadsRateIsKnown: the rates are those of the recording's samples.
func TestEveryThreadsRateIsKnown(t *testing.T) {
	target := start(t, "mixed", "5")
	r := recordUntil(t, Options{Freq: 199}, eachFor(7, 1.2), target.pid)
	samples := map[int64]int64{}
	for _, s := range r.Sample {
		samples[s.NumLabel["tid"][0]] += s.Value[0]
	}
	if len(r.Rates) != 7 {
		t.Errorf("%d threads", len(r.Rates))
	}
	for _, th := range r.Rates {
		if th.Looks != samples[int64(th.TID)] || th.Name == "" || th.Rate() <= 0 || th.Rate() < r.SlowestThread {
			t.Errorf("%+v, %d samples, slowest %v", th, samples[int64(th.TID)], r.SlowestThread)
		}
	}
}
