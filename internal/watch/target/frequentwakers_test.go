// SPDX-License-Identifier: Apache-2.0

package target

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"prywalk/frames"
	"prywalk/internal/base/sample"
	"prywalk/ptrace"

	"prywalk/internal/account/attribute"
	"prywalk/internal/host/procmem"
	"prywalk/internal/watch/observe"
)

func TestObservationsOfFrequentWakersTakeTheirShareUpToTheLongestBackoff(t *testing.T) {
	for _, c := range []struct {
		threads      int
		period, want time.Duration // ns
	}{
		{1, 1e6, 0}, {3, 1e6, 0}, {4, 1e6, 2.56e6}, {10, 1e6, 6.4e6}, {500, 1e6, 320e6}, {1562, 1e6, 999.68e6},
		{5000, 1e6, 1e9}, {10, 10e6, 0}, {31, 10e6, 0}, {32, 10e6, 20.48e6}, {100, 10e6, 64e6}, {5000, 10e6, 1e9},
	} {
		p := NewBackoffs(1)
		p.period, p.frequentWakers = c.period, c.threads
		sum, most := time.Duration(0), time.Duration(0)
		const times = 1000
		for range times {
			length := p.frequentWakerBackoff()
			sum, most = sum+length, max(most, length)
		}
		mean := sum / times
		if mean < c.want*95/100 || mean > c.want*105/100 || most > c.want*5/4 {
			t.Errorf("%d at %d ns: backed off for %d ns on average, %d at most; want %d", c.threads, c.period, mean, most,
				c.want)
		}
		if c.want == 0 || c.want == maxFrequentWakerBackoff {
			continue
		}
		if share := float64(c.threads) * float64(frequentWakerCost) / float64(mean); share > 1.05/frequentWakerShare {
			t.Errorf("%d at %d ns: they take %.3f of a CPU", c.threads, c.period, share)
		}
	}
}

func TestThreadsThatWakeOftenAreFrequentWakers(t *testing.T) {
	c := NewBackoffs(1)
	p := NewProcessBackoff(&Clock{})
	th := &Thread{Proc: &Process{Backoff: p}, Observed: observe.NewThread(1, 1, nil)}
	p.Add(th)
	at := ptrace.Moment(1e9)
	observed := func(asleep bool, cpu uint64) {
		at = at.Add(10e6)
		c.BeginTick(1, at, 10e6)
		c.RecordChanged(th)
		c.RecordObservation(th, asleep, false, procmem.SchedStat{CPU: cpu, Runs: 1})
	}
	want := func(n int, why string) {
		t.Helper()
		if c.frequentWakers != n || p.frequentWakers != n || th.backoff.isFrequentWaker != (n == 1) {
			t.Errorf("%s: %d frequent wakers, %d of the process, want %d", why, c.frequentWakers, p.frequentWakers, n)
		}
	}
	observed(true, 5)
	observed(true, 6)
	want(0, "the kernel does not sample it")
	th.Observed.SetKernelSampleStack(8 << 10)
	observed(true, 6)
	want(0, "it did not run")
	observed(true, 7)
	want(1, "it ran")
	observed(true, 7)
	want(1, "it ran lately")
	observed(false, 8)
	want(0, "it runs")
	observed(true, 9)
	want(1, "it ran")
	at = at.Add(rareWakerAfter)
	c.BeginTick(2, at, 10e6)
	c.RecordUnchanged(th)
	want(0, "it has slept for long")
	observed(true, 10)
	c.Forget(th)
	want(0, "the process has exited")
}

// Threads run for 1 ms between sleeps in two places. With 500 threads each is observed at one tick in 32. The shorter
// sleep's share of the blocked time is at most a hundredth further off than with 10 threads, observed at each tick.
func TestSleepsOfFrequentWakersHaveTheirShares(t *testing.T) {
	for _, c := range []struct {
		name        string
		long, short time.Duration
	}{
		{"66 and 22 ms", 66e6, 22e6}, {"300 and 20 ms", 300e6, 20e6}, {"40 and 5 ms", 40e6, 5e6},
	} {
		t.Run(c.name, func(t *testing.T) {
			truth := float64(c.short) / float64(c.short+c.long)
			few, many := sleepsOf(c.long, c.short, 10), sleepsOf(c.long, c.short, 500)
			t.Logf("the shorter sleep has %.4f of the blocked time; observed at each tick %.4f, among many %.4f",
				truth, few, many)
			if math.Abs(many-truth) > math.Abs(few-truth)+0.01 {
				t.Error("the shares among many are further off")
			}
		})
	}
}

func sleepsOf(long, short time.Duration, threads int) float64 {
	const period, burst = 10 * time.Millisecond, time.Millisecond
	rng := rand.New(rand.NewPCG(7, 9))
	p := NewBackoffs(2)
	p.period, p.frequentWakers = period, threads
	var ledger attribute.Ledger
	var blocked [numStacks]int64
	ledger.Emit = func(s attribute.Span) {
		if s.State == sample.Sleeping {
			blocked[s.Stack] += s.Wall
		}
	}
	var cpu, due time.Duration
	var samples []sample.Reading // that wait for an observation
	length := func() time.Duration { return long/2 + time.Duration(rng.Int64N(int64(long))) }
	ends, where := length(), stackFirst // the present sleep; a burst follows
	sampled := time.Duration(0)         // in its CPU time
	for now := period; now < 3600e9; now += period - period/4 + time.Duration(rng.Int64N(int64(period/2))) {
		for now >= ends+burst {
			if cpu += burst; cpu > sampled {
				at := ends + burst - (cpu - sampled)
				sampled += period
				samples = append(samples, sample.Reading{Wall: int64(at), CPU: int64(cpu - (ends + burst - at))})
			}
			begins := ends + burst
			if where == stackFirst {
				where, ends = stackLast, begins+short/2+time.Duration(rng.Int64N(int64(short)))
			} else {
				where, ends = stackFirst, begins+length()
			}
		}
		if now < due || now >= ends {
			continue
		}
		for _, at := range samples {
			ledger.Observe(at, attribute.Place{State: sample.Running, WalkEnd: frames.StopRoot}, true)
		}
		samples = samples[:0]
		ledger.Observe(sample.Reading{Wall: int64(now), CPU: int64(cpu)}, attribute.Place{
			Stack: where, State: sample.Sleeping, WalkEnd: frames.StopRoot,
		}, false)
		due = now + p.frequentWakerBackoff()
	}
	ledger.Finish()
	return float64(blocked[stackLast]) / float64(blocked[stackFirst]+blocked[stackLast])
}
