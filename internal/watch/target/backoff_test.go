// SPDX-License-Identifier: Apache-2.0

package target

import (
	"math/rand/v2"
	"testing"
	"time"

	"prywalk/frames"
	"prywalk/internal/base/sample"
	"prywalk/ptrace"

	"prywalk/internal/account/attribute"
)

func TestBackoffsGrowWithTheTimeAsleepAndTheNumberOfThreads(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const period = 10 * time.Millisecond
	for _, threads := range []int{1, 10, 100, 500, 5000} {
		for _, sampled := range []bool{false, true} {
			most := time.Duration(120e6)
			if sampled {
				most *= 16
			}
			for asleep := period; asleep < 1e12; asleep += asleep / 3 {
				length := backoffLength(asleep, period, threads, sampled, rng)
				want := min(asleep/16, most, time.Duration(int64(threads)*256e3))
				if want < 2*period && length != 0 || want >= 2*period && (length < want*3/4 || length > want*5/4) {
					t.Errorf("%d threads, asleep for %d, sampled %v: backed off for %d", threads, asleep, sampled, length)
				}
			}
		}
	}
	if length := backoffLength(1e15, 100e6, 5000, false, rng); length != 0 {
		t.Errorf("at 10 Hz, %d: there is nothing to be saved", length)
	}
}

func TestThreadsAreGivenBackWhenDue(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	var s sleepers
	due := map[*Thread]ptrace.Moment{}
	now := ptrace.Moment(5e12)
	if ended := s.takeEnded(now); len(ended) > 0 {
		t.Fatal("a thread of none")
	}
	for range 20000 {
		switch rng.IntN(4) {
		case 0, 1:
			th := &Thread{}
			due[th] = now.Add(time.Duration(rng.Int64N(1500e6)))
			s.put(th, due[th])
		case 2:
			for th := range due {
				s.remove(th)
				delete(due, th)
				break
			}
		case 3:
			now = now.Add(time.Duration(rng.Int64N(40e6) * rng.Int64N(20)))
			for _, th := range s.takeEnded(now) {
				at, ok := due[th]
				if !ok || at > now || th.backoff.place != 0 {
					t.Fatalf("given back %d ns early, known %v", at.Sub(now), ok)
				}
				delete(due, th)
				if rng.IntN(2) == 0 {
					due[th] = now.Add(time.Duration(rng.Int64N(1200e6)))
					s.put(th, due[th])
				}
			}
			for th, at := range due {
				if th.backoff.place == 0 || at < now {
					t.Fatalf("left %d ns late", now.Sub(at))
				}
			}
		}
		if len(s.list) != len(due) {
			t.Fatalf("%d threads, want %d", len(s.list), len(due))
		}
	}
}

// life is a thread that sleeps, then computes in the stacks first and then last, for as long in each.
type life struct {
	sleep, burst time.Duration // ns, on average
}

const (
	stackSleep sample.StackID = iota
	stackFirst
	stackLast
	numStacks
)

type outcome struct {
	attributed            [numStacks]int64
	unseen, truth         int64
	observations, samples int64
}

func (o *outcome) emit(s attribute.Span) {
	o.samples += s.Samples
	if s.Leaf == attribute.RanBetweenTicks {
		o.unseen += s.CPU
	} else {
		o.attributed[s.Stack] += s.CPU
	}
}

// first is the share of the observed time.
func (o *outcome) first() float64 {
	return float64(o.attributed[stackFirst]) / float64(o.attributed[stackFirst]+o.attributed[stackLast])
}

// An hour, as one of so many threads.
func (l life) sampled(threads int, seed uint64) (o outcome) {
	const period = 10 * time.Millisecond
	rng := rand.New(rand.NewPCG(seed, 5))
	ledger := attribute.Ledger{Emit: o.emit}
	cycle, asleep := time.Duration(0), l.sleep
	var cpu time.Duration
	var bursts int64 // at the present cycle's beginning
	var due, since time.Duration
	var arrivals int64
	var last sample.State
	for now := time.Duration(0); now < 3600e9; now += period - period/4 + time.Duration(rng.Int64N(int64(period/2))) {
		for now >= cycle+asleep+l.burst {
			cycle += asleep + l.burst
			cpu += l.burst
			bursts++
			asleep = l.sleep/2 + time.Duration(rng.Int64N(int64(l.sleep)))
		}
		ran := max(now-cycle-asleep, 0)
		if now < due {
			continue
		}
		o.observations++
		at, runs := sample.Reading{Wall: int64(now), CPU: int64(cpu + ran)}, bursts
		o.truth = at.CPU
		s := attribute.Place{Stack: stackSleep, State: sample.Sleeping, WalkEnd: frames.StopRoot}
		if ran > 0 {
			s.State, s.Stack = sample.Running, stackFirst+sample.StackID(int64(ran/(l.burst/2+1)))
			runs++
		}
		if o.observations > 1 && last != sample.Running && s.State != sample.Running && runs == arrivals {
			ledger.ExtendUnchanged(at, 1)
			if length := backoffLength(now-since, period, threads, false, rng); length > 0 {
				due = now + length
			}
			continue
		}
		ledger.Observe(at, s, s.State == sample.Running)
		last, since, arrivals = s.State, now, runs
	}
	ledger.Finish()
	return o
}

// An hour each, at 100 Hz. Where so many threads are backed off, the place that comes first after a long sleep loses
// some time to the other place, or to what was not observed. The bounds are the documentation's figures.
func TestBackingOffKeepsEveryonesTime(t *testing.T) {
	for _, c := range []struct {
		name       string
		life       life
		few, many  float64 // least share of the observed time that the first place has
		fewUnseen  float64 // most of all that is not observed
		manyUnseen float64
	}{
		{"sleeps of 100 ms, bursts of 20 ms", life{100e6, 20e6}, 0.45, 0.45, 0.01, 0.01},
		{"sleeps of 300 ms, bursts of 20 ms", life{300e6, 20e6}, 0.45, 0.45, 0.01, 0.02},
		{"sleeps of 1 s, bursts of 20 ms", life{1e9, 20e6}, 0.45, 0.32, 0.01, 0.5},
		{"sleeps of 1 s, bursts of 200 ms", life{1e9, 200e6}, 0.47, 0.42, 0.01, 0.01},
		{"sleeps of 10 s, bursts of 20 ms", life{10e9, 20e6}, 0.45, 0.32, 0.01, 0.8},
		{"sleeps of 10 s, bursts of 1 s", life{10e9, 1e9}, 0.49, 0.47, 0.01, 0.01},
	} {
		t.Run(c.name, func(t *testing.T) {
			few, many := c.life.sampled(50, 1), c.life.sampled(2000, 1)
			t.Logf("50 threads: %.3f of the observed first, %.3f not observed, %d observations", few.first(),
				float64(few.unseen)/float64(few.truth), few.observations)
			t.Logf("2000 threads: %.3f of the observed first, %.3f not observed, %d observations", many.first(),
				float64(many.unseen)/float64(many.truth), many.observations)
			for _, o := range []outcome{few, many} {
				got := o.attributed[stackFirst] + o.attributed[stackLast] + o.unseen
				if got != o.truth || o.attributed[stackSleep] != 0 {
					t.Errorf("%d of %d ns", got, o.truth)
				}
			}
			if few.first() < c.few || few.first() > 1-c.few || many.first() < c.many || many.first() > 1-c.many {
				t.Errorf("%.3f and %.3f in the first place", few.first(), many.first())
			}
			if few.unseen > int64(c.fewUnseen*float64(few.truth)) || many.unseen > int64(c.manyUnseen*float64(many.truth)) {
				t.Errorf("%d and %d not observed", few.unseen, many.unseen)
			}
		})
	}
}
