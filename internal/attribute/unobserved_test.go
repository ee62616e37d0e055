// SPDX-License-Identifier: Apache-2.0

package attribute

import (
	"math"
	"math/rand/v2"
	"prywalk/frames"
	"prywalk/internal/sample"
	"testing"

	"prywalk/internal/schedule"
)

// pause passes a gap without samples, and then samples.
func (b *book) pause(cpu, runq, blocked, gap int64, stack sample.StackID, st sample.State) {
	at := sample.Reading{Wall: b.now.Wall + cpu + runq + blocked, CPU: b.now.CPU + cpu, RunQueue: b.now.RunQueue + runq}
	b.c.Skip(gap, at, st, b.emit)
	b.observe(cpu, runq, blocked, stack, st)
}

func (b *book) notObserved() (wall, runq, cpu int64) {
	for _, s := range b.spans {
		if s.Leaf == NotObserved {
			wall, runq, cpu = wall+s.Wall, runq+s.RunQueue, cpu+s.CPU
		}
	}
	return wall, runq, cpu
}

func TestAGapIsNotChargedToThreadsStartedAfterIt(t *testing.T) {
	var b book
	b.observe(0, 0, 0, 1, sample.Running)
	b.observe(9, 1, 0, 1, sample.Running)
	b.pause(2790, 310, 0, 3000, 2, sample.Running)
	b.c.Finish(b.emit)
	if wall, runq, cpu := b.notObserved(); wall != 3000 || runq != 300 || cpu != 2700 {
		t.Errorf("not observed: %d, queued %d, cpu %d", wall, runq, cpu)
	}
	last := b.spans[len(b.spans)-1]
	if last.Stack != 2 || last.Leaf != "" || last.CPU != 90 || last.RunQueue != 10 || last.End != b.now.Wall {
		t.Errorf("%+v", last)
	}
	for _, s := range b.spans {
		if s.Leaf == NotObserved && (s.End != 10+3000 || s.State != sample.Running || s.Samples != 0) {
			t.Errorf("%+v", s)
		}
	}
}

func TestASleeperThatDidNotRunWasObservedAllTheSame(t *testing.T) {
	var b book
	b.observe(0, 0, 0, 1, sample.Sleeping)
	b.pause(0, 0, 3010, 3000, 1, sample.Sleeping)
	b.c.Finish(b.emit)
	if wall, _, _ := b.notObserved(); wall != 0 || len(b.spans) != 1 || b.spans[0].Wall != 3010 {
		t.Errorf("%+v", b.spans)
	}
}

func TestASleeperThatRanInAGapIsNotTakenForOne(t *testing.T) {
	for _, after := range []sample.State{sample.Sleeping, sample.Running} {
		var b book
		b.observe(0, 0, 0, 1, sample.Sleeping)
		b.observe(0, 0, 100, 1, sample.Sleeping)
		b.pause(300, 0, 2800, 3000, 2, after)
		b.c.Finish(b.emit)
		if wall, _, cpu := b.notObserved(); wall != 3000 || cpu != 290 {
			t.Errorf("then %v: not observed: %d, cpu %d: %+v", after, wall, cpu, b.spans)
		}
		if first := b.spans[0]; first.Stack != 1 || first.Wall != 100 || first.End != 100 {
			t.Errorf("then %v: %+v", after, first)
		}
		for _, s := range b.spans {
			if s.Leaf == NotObserved && (s.End > 3100 || s.End-s.Wall < 100) {
				t.Errorf("then %v: %+v", after, s)
			}
		}
	}
}

func TestAThreadThatStayedQueuedWasObservedUpToThen(t *testing.T) {
	var b book
	b.observe(5, 0, 0, 1, sample.Running)
	at := b.now
	at.Wall += 400
	b.c.Unchanged(at, 40, b.emit)
	if b.c.Observed() != at.Wall {
		t.Fatalf("observed up to %d of %d", b.c.Observed(), at.Wall)
	}
	b.pause(310, 3100, 0, 3000, 2, sample.Running) // queued for 400 before, then half a second a round
	b.c.Finish(b.emit)
	if wall, _, _ := b.notObserved(); wall != 3000 {
		t.Errorf("not observed: %d", wall)
	}
	var queued, samples int64
	for _, s := range b.spans {
		if s.Stack == 1 {
			queued, samples = queued+s.RunQueue, samples+s.Samples
		}
	}
	if queued != 400 || samples != 41 {
		t.Errorf("queued for %d at %d ticks: %+v", queued, samples, b.spans)
	}
}

func TestAThreadThatCouldNotBeSampledKeepsItsTime(t *testing.T) {
	var never, lately, long book
	never.c.Begin(sample.Reading{Wall: 100, CPU: 1000})
	never.c.EndWithoutSample(sample.Reading{Wall: 5100, CPU: 3000, RunQueue: 1000}, 0, never.emit)
	never.c.Finish(never.emit)
	if wall, runq, cpu := never.notObserved(); wall != 5000 || runq != 1000 || cpu != 2000 {
		t.Errorf("never: %d, queued %d, cpu %d", wall, runq, cpu)
	}
	lately.observe(0, 0, 0, 1, sample.Running)
	lately.observe(10, 0, 0, 1, sample.Running)
	lately.c.EndWithoutSample(sample.Reading{Wall: 20, CPU: 17}, 40, lately.emit)
	lately.c.Finish(lately.emit)
	if _, _, cpu := lately.total(); cpu != 17 {
		t.Errorf("lately: %+v", lately.spans)
	}
	for _, s := range lately.spans {
		if s.CPU > 0 && (s.Stack != 1 || s.Leaf != "") {
			t.Errorf("lately: %+v", s)
		}
	}
	long.observe(0, 0, 0, 1, sample.Running)
	long.c.EndWithoutSample(sample.Reading{Wall: 500, CPU: 70}, 40, long.emit)
	long.c.Finish(long.emit)
	if wall, _, cpu := long.notObserved(); wall != 500 || cpu != 70 {
		t.Errorf("long: %+v", long.spans)
	}
}

func TestClocksAddUpWithGaps(t *testing.T) {
	stacks := []sample.StackID{0, 1, 2, 3, 9, sampledStack}
	for seed := range uint64(2000) {
		rng := rand.New(rand.NewPCG(seed, 2))
		var b book
		b.observe(0, 0, 0, 1, sample.State(rng.IntN(4)))
		start := b.now
		for range rng.IntN(60) {
			cpu, runq, blocked := rng.Int64N(1e8), rng.Int64N(1e8)*rng.Int64N(2), rng.Int64N(4e8)*rng.Int64N(2)
			gap := rng.Int64N(3) * rng.Int64N(cpu+runq+blocked+1)
			b.pause(cpu, runq, blocked, gap, stacks[rng.IntN(len(stacks))], sample.State(rng.IntN(4)))
			if at := b.now; rng.IntN(5) == 0 {
				at.Wall += rng.Int64N(1e9)
				b.c.Unchanged(at, 1+rng.Int64N(9), b.emit)
				if b.c.isOpen {
					b.now = at
				}
			}
		}
		if rng.IntN(2) == 0 {
			cpu, blocked := rng.Int64N(1e8), rng.Int64N(1e8)
			b.now.CPU += cpu
			b.now.Wall += cpu + blocked
			b.c.EndWithoutSample(b.now, rng.Int64N(2e8), b.emit)
		}
		b.c.Finish(b.emit)
		wall, runq, cpu := b.total()
		if wall != b.now.Wall-start.Wall || cpu != b.now.CPU-start.CPU || runq != b.now.RunQueue-start.RunQueue {
			t.Fatalf("seed %d: booked wall %d cpu %d runq %d; clocks moved %+v", seed, wall, cpu, runq, b.now)
		}
		for _, s := range b.spans {
			if s.Wall < 0 || s.CPU < 0 || s.RunQueue < 0 || s.Samples < 0 || s.Wall < s.CPU+s.RunQueue || s.End > b.now.Wall {
				t.Fatalf("seed %d: span %+v", seed, s)
			}
		}
	}
}

func TestPortionIsExactForLongTimes(t *testing.T) {
	for _, c := range [][4]int64{{1 << 62, 1 << 62, 1 << 62, 1 << 62}, {1 << 60, 1, 1 << 30, 1 << 30}, {7, 2, 3, 4},
		{0, 1, 1, 0}} {
		if got := sample.Portion(c[0], c[1], c[2]); got != c[3] {
			t.Errorf("%d of %d parts of %d: %d, want %d", c[1], c[2], c[0], got, c[3])
		}
	}
}

type outcome struct {
	booked [3]int64
	truth  int64
}

const stackFirst, stackLast sample.StackID = 1, 2

// paused samples a thread that always runs, a tenth of the time in stackLast, for six seconds with a gap of three.
func paused(seed uint64) (o outcome, unobserved int64) {
	const period, from, until = 10e6, 1500e6, 4500e6
	rng := rand.New(rand.NewPCG(seed, 6))
	var w schedule.GapDetector
	var g Gaps
	var clock Clock
	emit := func(s Span) {
		if s.Leaf == NotObserved {
			unobserved += s.CPU
			return
		}
		o.booked[s.Stack] += s.CPU
	}
	for now := int64(0); now < 6e9; now += period - period/4 + rng.Int64N(period/2) {
		if now >= from && now < until {
			now = until
		}
		if at, length := w.Observed(now); length > 0 {
			g.Add(at, length)
		}
		w.Tick(now, period)
		s := Seen{Stack: stackFirst, State: sample.Running, Stop: frames.StopRoot}
		if rng.IntN(10) == 0 {
			s.Stack = stackLast
		}
		at := sample.Reading{Wall: now, CPU: now}
		if clock.started {
			if length := g.Within(clock.Observed(), now); length > 0 {
				clock.Skip(length, at, s.State, emit)
			}
		}
		clock.Observe(at, s, true, emit)
	}
	clock.Finish(emit)
	o.truth = clock.last.CPU
	return o, unobserved
}

// As near as that many samples allow.
func TestSharesAreTrueThoughHalfOfTheTimeIsUnobserved(t *testing.T) {
	const runs = 400
	var sum, squares float64
	for seed := range uint64(runs) {
		o, unobserved := paused(seed)
		if got := o.booked[stackFirst] + o.booked[stackLast] + unobserved; got != o.truth {
			t.Fatalf("seed %d: %d of %d ns", seed, got, o.truth)
		}
		if unobserved < 2980e6 || unobserved > 3020e6 {
			t.Fatalf("seed %d: %d ns not observed", seed, unobserved)
		}
		last := float64(o.booked[stackLast]) / float64(o.booked[stackFirst]+o.booked[stackLast])
		sum += last
		squares += (last - 0.1) * (last - 0.1)
	}
	// 0.3 / √300 for one run; jitter makes the weights of samples unequal.
	if mean, rms := sum/runs, math.Sqrt(squares/runs); math.Abs(mean-0.1) > 0.004 || rms > 0.021 {
		t.Errorf("%.4f on average, wrong by %.4f", mean, rms)
	}
}
