// SPDX-License-Identifier: Apache-2.0

package attribute

import (
	"math"
	"math/rand/v2"
	"testing"

	"prywalk/frames"
	"prywalk/internal/base/sample"
)

func (b *timeline) pause(cpu, runq, blocked, gap int64, stack sample.StackID, st sample.State) {
	at := sample.Reading{Wall: b.now.Wall + cpu + runq + blocked, CPU: b.now.CPU + cpu, RunQueue: b.now.RunQueue + runq}
	b.l.MarkNotObserved(gap, at, st)
	b.observe(cpu, runq, blocked, stack, st)
}

func (b *timeline) notObserved() (wall, runq, cpu int64) {
	for _, s := range b.spans {
		if s.Leaf == NotObserved {
			wall, runq, cpu = wall+s.Wall, runq+s.RunQueue, cpu+s.CPU
		}
	}
	return wall, runq, cpu
}

func TestAGapIsNotChargedToThreadsStartedAfterIt(t *testing.T) {
	b := newTimeline()
	b.observe(0, 0, 0, 1, sample.Running)
	b.observe(9, 1, 0, 1, sample.Running)
	b.pause(2790, 310, 0, 3000, 2, sample.Running)
	b.l.Finish()
	if wall, runq, cpu := b.notObserved(); wall != 3000 || runq != 300 || cpu != 2700 {
		t.Errorf("not observed: wall %d, queued %d, CPU %d; want 3000, 300, 2700", wall, runq, cpu)
	}
	last := b.spans[len(b.spans)-1]
	if last.Stack != 2 || last.Leaf != "" || last.CPU != 90 || last.RunQueue != 10 || last.End != b.now.Wall {
		t.Errorf("last span %+v; want stack 2, CPU 90, queued 10, to %d", last, b.now.Wall)
	}
	for _, s := range b.spans {
		if s.Leaf == NotObserved && (s.End != 10+3000 || s.State != sample.Running || s.Samples != 0) {
			t.Errorf("unobserved span %+v; want running, to 3010, at no tick", s)
		}
	}
}

func TestAThreadThatSleptThroughAGapWasObserved(t *testing.T) {
	b := newTimeline()
	b.observe(0, 0, 0, 1, sample.Sleeping)
	b.pause(0, 0, 3010, 3000, 1, sample.Sleeping)
	b.l.Finish()
	if wall, _, _ := b.notObserved(); wall != 0 || len(b.spans) != 1 || b.spans[0].Wall != 3010 {
		t.Errorf("spans %+v, want one of 3010 ns, observed", b.spans)
	}
}

func TestTimeOfASleeperThatRanInAGapIsNotObserved(t *testing.T) {
	for _, after := range []sample.State{sample.Sleeping, sample.Running} {
		b := newTimeline()
		b.observe(0, 0, 0, 1, sample.Sleeping)
		b.observe(0, 0, 100, 1, sample.Sleeping)
		b.pause(300, 0, 2800, 3000, 2, after)
		b.l.Finish()
		if wall, _, cpu := b.notObserved(); wall != 3000 || cpu != 290 {
			t.Errorf("then %v: not observed: wall %d, CPU %d; want 3000 and 290: %+v", after, wall, cpu, b.spans)
		}
		if first := b.spans[0]; first.Stack != 1 || first.Wall != 100 || first.End != 100 {
			t.Errorf("then %v: first span %+v, want 100 ns of stack 1", after, first)
		}
		for _, s := range b.spans {
			if s.Leaf == NotObserved && (s.End > 3100 || s.End-s.Wall < 100) {
				t.Errorf("then %v: unobserved span %+v, want one within 100 to 3100", after, s)
			}
		}
	}
}

func TestAThreadThatStayedQueuedWasObservedToThatTick(t *testing.T) {
	b := newTimeline()
	b.observe(5, 0, 0, 1, sample.Running)
	at := b.now
	at.Wall += 400
	b.l.ExtendUnchanged(at, 40)
	if b.l.KnownUntil() != at.Wall {
		t.Fatalf("observed up to %d, want %d", b.l.KnownUntil(), at.Wall)
	}
	b.pause(310, 3100, 0, 3000, 2, sample.Running) // queued for 400 before, then ten times as long as on a CPU
	b.l.Finish()
	if wall, _, _ := b.notObserved(); wall != 3000 {
		t.Errorf("%d ns not observed, want 3000", wall)
	}
	var queued, samples int64
	for _, s := range b.spans {
		if s.Stack == 1 {
			queued, samples = queued+s.RunQueue, samples+s.Samples
		}
	}
	if queued != 400 || samples != 41 {
		t.Errorf("stack 1 queued for %d ns at %d ticks, want 400 and 41: %+v", queued, samples, b.spans)
	}
}

func TestAThreadThatCouldNotBeSampledKeepsItsTime(t *testing.T) {
	for _, c := range []struct {
		name         string
		samples      int // in stack 1, 10 ns apart
		grow, unseen sample.Reading
	}{
		{"never sampled", 0, sample.Reading{Wall: 5000, CPU: 2000, RunQueue: 1000},
			sample.Reading{Wall: 5000, CPU: 2000, RunQueue: 1000}},
		{"sampled lately", 2, sample.Reading{Wall: 20, CPU: 17}, sample.Reading{}},
		{"sampled long ago", 1, sample.Reading{Wall: 500, CPU: 70}, sample.Reading{Wall: 500, CPU: 70}},
	} {
		start := sample.Reading{Wall: 100, CPU: 1000}
		b := newTimeline()
		b.now = start
		b.l.Begin(start)
		for i := range c.samples {
			b.observe(int64(min(i, 1)*10), 0, 0, 1, sample.Running)
		}
		b.now = sample.Reading{Wall: start.Wall + c.grow.Wall, CPU: start.CPU + c.grow.CPU, RunQueue: c.grow.RunQueue}
		b.l.EndWithoutSample(b.now, 40)
		b.l.Finish()
		wall, runq, cpu := b.notObserved()
		if (sample.Reading{Wall: wall, CPU: cpu, RunQueue: runq}) != c.unseen {
			t.Errorf("%s: not observed: wall %d, queued %d, CPU %d; want %+v", c.name, wall, runq, cpu, c.unseen)
		}
		if b.check(t, start); t.Failed() {
			t.Fatal(c.name)
		}
		for _, s := range b.spans {
			if s.CPU > 0 && s.Leaf != NotObserved && (s.Stack != 1 || s.Leaf != "") {
				t.Errorf("%s: CPU time is neither unobserved nor the last stack's: %+v", c.name, s)
			}
		}
	}
}

func TestClocksAddUpWithGaps(t *testing.T) {
	stacks := []sample.StackID{0, 1, 2, 3, 9, sampledStack}
	for seed := range uint64(2000) {
		rng := rand.New(rand.NewPCG(seed, 2))
		b := newTimeline()
		b.observe(0, 0, 0, 1, sample.State(rng.IntN(4)))
		start := b.now
		for range rng.IntN(60) {
			cpu, runq, blocked := rng.Int64N(1e8), rng.Int64N(1e8)*rng.Int64N(2), rng.Int64N(4e8)*rng.Int64N(2)
			gap := rng.Int64N(3) * rng.Int64N(cpu+runq+blocked+1)
			b.pause(cpu, runq, blocked, gap, stacks[rng.IntN(len(stacks))], sample.State(rng.IntN(4)))
			if at := b.now; rng.IntN(5) == 0 {
				at.Wall += rng.Int64N(1e9)
				b.l.ExtendUnchanged(at, 1+rng.Int64N(9))
				if b.l.sleep.open {
					b.now = at
				}
			}
		}
		if rng.IntN(2) == 0 {
			cpu, blocked := rng.Int64N(1e8), rng.Int64N(1e8)
			b.now.CPU += cpu
			b.now.Wall += cpu + blocked
			b.l.EndWithoutSample(b.now, rng.Int64N(2e8))
		}
		b.l.Finish()
		if b.check(t, start); t.Failed() {
			t.Fatal("seed", seed)
		}
	}
}

type outcome struct {
	attributed [3]int64
	truth      int64
}

const stackFirst, stackLast sample.StackID = 1, 2

// paused samples a thread that always runs, a tenth of the time in stackLast, for 6 s with a gap of 3 s.
func paused(seed uint64) (o outcome, unobserved int64) {
	const period, from, until = 10e6, 1500e6, 4500e6
	rng := rand.New(rand.NewPCG(seed, 6))
	var g Gaps
	var l Ledger
	l.Emit = func(s Span) {
		if s.Leaf == NotObserved {
			unobserved += s.CPU
			return
		}
		o.attributed[s.Stack] += s.CPU
	}
	for now := int64(0); now < 6e9; now += period - period/4 + rng.Int64N(period/2) {
		if now >= from && now < until {
			last := l.KnownUntil()
			now = until
			g.Add(last, now-last-period) // as the tracer reports it: one period is observed
		}
		s := Place{Stack: stackFirst, State: sample.Running, WalkEnd: frames.StopRoot}
		if rng.IntN(10) == 0 {
			s.Stack = stackLast
		}
		at := sample.Reading{Wall: now, CPU: now}
		if l.started {
			if length := g.Within(l.KnownUntil(), now); length > 0 {
				l.MarkNotObserved(length, at, s.State)
			}
		}
		l.Observe(at, s, true)
	}
	l.Finish()
	o.truth = l.clocks.last.CPU
	return o, unobserved
}

// Bound: the standard error of this number of samples.
func TestSharesAreTrueIfHalfOfTheTimeIsUnobserved(t *testing.T) {
	const runs = 400
	var sum, squares float64
	for seed := range uint64(runs) {
		o, unobserved := paused(seed)
		if got := o.attributed[stackFirst] + o.attributed[stackLast] + unobserved; got != o.truth {
			t.Fatalf("seed %d: attributed %d ns, want %d", seed, got, o.truth)
		}
		if unobserved < 2980e6 || unobserved > 3020e6 {
			t.Fatalf("seed %d: %d ns not observed, want 3e9 ± 2e7", seed, unobserved)
		}
		last := float64(o.attributed[stackLast]) / float64(o.attributed[stackFirst]+o.attributed[stackLast])
		sum += last
		squares += (last - 0.1) * (last - 0.1)
	}
	// 0.3 / √300 for one run; jitter makes the weights of samples unequal.
	if mean, rms := sum/runs, math.Sqrt(squares/runs); math.Abs(mean-0.1) > 0.004 || rms > 0.021 {
		t.Errorf("mean share of stackLast %.4f, want 0.1 ± 0.004; its error is %.4f, want at most 0.021", mean, rms)
	}
}
