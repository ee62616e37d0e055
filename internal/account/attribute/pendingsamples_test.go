// SPDX-License-Identifier: Apache-2.0

package attribute

import (
	"maps"
	"math"
	"math/rand/v2"
	"prywalk/frames"
	"prywalk/internal/base/sample"
	"testing"
)

const (
	samplesApart = 1e6  // ns
	kernelTick   = 4e6  // update interval of a running thread's clock, ns
	burstsFor    = 60e9 // ns
	burstPhases  = 4
)

// bursts is a thread that alternates between a burst of length ns and a sleep of random length.
type bursts struct {
	length int64
	rng    *rand.Rand

	from, to int64
	used     int64
}

func (b *bursts) reach(now int64) {
	for b.to <= now {
		b.used += b.to - b.from
		b.from = b.to + 1 + int64(b.rng.ExpFloat64()*float64(b.length))
		b.to = b.from + b.length
	}
}

func (b *bursts) runs(now int64) (phase int64, on bool) {
	b.reach(now)
	return (now - b.from) * burstPhases / b.length, now >= b.from
}

func (b *bursts) clock(now int64) int64 {
	b.reach(now)
	return b.used + max(now-now%kernelTick-b.from, 0)
}

// sampled attributes kernel samples of burstsFor; clocks are read each apart ns on average.
func (b *bursts) sampled(t *testing.T, apart int64) (attributed [burstPhases]int64, used int64) {
	p, th := &processAccount{}, &threadAccount{}
	th.ledger.Emit = func(s Span) {
		if s.State != sample.Running {
			return
		}
		if s.Leaf != "" || s.CPU < 0 {
			t.Errorf("running span %+v with a synthetic frame or negative CPU time", s)
		}
		attributed[s.Stack] += s.CPU
	}
	read, next := sample.Reading{Wall: 1}, b.rng.Int64N(samplesApart)
	th.beginWithoutSample(read)
	var list []Sample
	for tick := int64(1); tick < burstsFor; list = list[:0] {
		for tick += apart/2 + b.rng.Int64N(apart); next < tick; next += samplesApart {
			if phase, on := b.runs(next); on {
				s := Place{Stack: sample.StackID(phase), State: sample.Running, WalkEnd: frames.StopRoot}
				list = append(list, Sample{
					At: sample.Reading{Wall: next}, Place: s, OnCPU: true, StandsFor: samplesApart, FromKernel: true,
				})
			}
		}
		now := sample.Reading{Wall: tick, CPU: b.clock(tick)}
		for i := range list {
			list[i].At = read.Between(now, list[i].At.Wall)
			th.add(&list[i])
		}
		if _, on := b.runs(tick); !on {
			th.add(&Sample{At: now, Place: Place{Stack: burstPhases, State: sample.Sleeping}})
		}
		read = now
	}
	p.finishThread(th)
	return attributed, p.attributed
}

func TestSamplesOfBurstsHaveTrueShares(t *testing.T) {
	for _, periods := range []float64{0.2, 0.5, 1, 1.5, 2.5, 5} {
		for _, apart := range []int64{samplesApart, 10 * samplesApart} {
			b := &bursts{length: int64(periods * samplesApart), rng: rand.New(rand.NewPCG(7, uint64(apart)))}
			attributed, used := b.sampled(t, apart)
			sum, limit := int64(0), 6*math.Sqrt(0.25*0.75/float64(used/samplesApart))
			for phase, ns := range attributed {
				sum += ns
				if share := float64(ns) / float64(used); math.Abs(share-0.25) > limit {
					t.Errorf("bursts of %v periods, clocks read each %v ms: share of phase %d is %.4f, want 0.25 ± %.4f",
						periods, float64(apart)/1e6, phase, share, limit)
				}
			}
			if sum != used {
				t.Errorf("bursts of %v periods: attributed %d ns, want %d", periods, sum, used)
			}
		}
	}
}

// A thread is preempted after its last kernel sample, runs on, and sleeps. Its queue time is before the sleep.
func TestQueueTimeBeforeASleepStaysBeforeIt(t *testing.T) {
	const ms = 1e6
	b := newTimeline()
	b.observe(0, 0, 0, 1, sample.Sleeping)
	b.observe(4*ms, 0, 6*ms, sampledStack, sample.Running)
	b.observe(2*ms, 20*ms, 30*ms, 1, sample.Sleeping)
	b.observe(0, 1*ms, 10*ms, 1, sample.Sleeping) // it ran again, unseen
	b.observe(4*ms, 3*ms, 0, sampledStack, sample.Running)
	b.l.Finish()
	queued := map[int64]int64{}
	for _, s := range b.spans {
		if s.Stack == sampledStack && s.RunQueue > 0 {
			queued[s.End] = s.RunQueue
		}
	}
	if want := map[int64]int64{(10 + 2 + 20) * ms: 20 * ms, b.now.Wall: (1 + 3) * ms}; !maps.Equal(queued, want) {
		t.Errorf("queue time by end %v, want %v: %+v", queued, want, b.spans)
	}
	b.check(t, sample.Reading{})
}

// A thread without samples waits for a CPU between two sleeps. The next running sample takes that time where it passed.
func TestCarriedQueueTimeKeepsItsTime(t *testing.T) {
	const ms = 1e6
	b := newTimeline()
	b.observe(0, 0, 0, 1, sample.Sleeping)
	b.observe(1*ms, 200*ms, 30*ms, 2, sample.Sleeping)
	b.observe(0, 1*ms, 100*ms, 1, sample.Sleeping)
	b.observe(0, 50*ms, 40*ms, 2, sample.Sleeping)
	b.observe(7*ms, 2*ms, 0, 4, sample.Running)
	b.l.Finish()
	queued := map[int64]int64{}
	for _, s := range b.spans {
		if s.RunQueue > 0 && s.Stack == 4 {
			queued[s.End] += s.RunQueue
		}
	}
	want := map[int64]int64{201 * ms: 200 * ms, (201 + 30 + 101 + 50) * ms: 50 * ms, b.now.Wall: 3 * ms}
	if !maps.Equal(queued, want) {
		t.Errorf("queue time by end %v, want %v: %+v", queued, want, b.spans)
	}
	b.check(t, sample.Reading{})
}

func TestPendingSamplesAreAttributedInTheEnd(t *testing.T) {
	sampled := func(b *timeline) {
		b.observe(0, 0, 0, 1, sample.Sleeping)
		b.observe(4, 0, 6, sampledStack, sample.Running)
		b.observe(2, 1, 0, sampledStack, sample.Running)
	}
	for name, c := range map[string]struct {
		then func(*timeline)
		cpu  int64
	}{
		"it stays asleep": {func(b *timeline) { b.observe(3, 0, longestPending, 1, sample.Sleeping) }, 9},
		"it ran and sleeps again": {func(b *timeline) {
			b.observe(3, 0, 1, 1, sample.Sleeping)
			b.now.Wall += longestPending
			b.observe(0, 0, 0, 1, sample.Sleeping)
		}, 9},
		"it is stopped":    {func(b *timeline) { b.observe(5, 0, 0, 2, sample.Running) }, 6},
		"a checkpoint":     {func(b *timeline) { b.l.Flush() }, 6},
		"a view of it all": {func(b *timeline) { b.l.EmitOpen(b.l.Emit) }, 6},
		"the thread ends":  {func(b *timeline) { b.observe(3, 0, 1, 1, sample.Sleeping); b.l.Finish() }, 9},
	} {
		b := newTimeline()
		sampled(b)
		for _, s := range b.spans {
			if s.Stack == sampledStack {
				t.Errorf("%s: sample attributed too early: %+v", name, s)
			}
		}
		c.then(b)
		var cpu, queued, n int64
		for _, s := range b.spans {
			if s.Stack == sampledStack {
				cpu, queued, n = cpu+s.CPU, queued+s.RunQueue, n+s.Samples
			}
		}
		if cpu != c.cpu || queued != 1 || n != 2 {
			t.Errorf("%s: CPU %d, queued %d, samples %d; want %d, 1, 2: %+v", name, cpu, queued, n, c.cpu, b.spans)
		}
	}
}

func TestSamplesOfTwoRatesHavePartsInProportionToTheirPeriods(t *testing.T) {
	const short, long, n = 1e6, 3e6, enoughPending / 2
	var l Ledger
	got := map[sample.StackID]int64{}
	l.Emit = func(s Span) {
		if s.State == sample.Running {
			got[s.Stack] += s.CPU
		}
	}
	now := sample.Reading{Wall: 1}
	l.Begin(now)
	for i := range int64(2 * n) {
		stack, period := sample.StackID(1), int64(short)
		if i >= n {
			stack, period = 2, long
		}
		now.Wall += period
		now.CPU += 2e6
		l.AddKernelSample(now, Place{Stack: stack, State: sample.Running}, period)
	}
	now.Wall += 1e6
	l.Observe(now, Place{Stack: 3, State: sample.Sleeping}, false)
	if got[1] != n*short || got[2] != n*long {
		t.Errorf("time by stack %v, want %d and %d", got, int64(n*short), int64(n*long))
	}
}

func TestALabelledKernelSampleSharesCPUTime(t *testing.T) {
	s := Sample{FromKernel: true, OnCPU: true, Place: Place{Stack: 5, State: sample.Running, Labels: "k=v"}}
	if !s.sharesCPU() {
		t.Error("its CPU time is that of the clock, which is up to a kernel tick old")
	}
	b := newTimeline()
	b.observe(0, 0, 0, 1, sample.Sleeping)
	b.now.Wall, b.now.CPU = b.now.Wall+4, b.now.CPU+4
	b.l.AddKernelSample(b.now, s.Place, 0)
	b.l.Finish()
	if last := b.spans[len(b.spans)-1]; last.CPU != 4 || last.Place != s.Place {
		t.Errorf("%+v, want 4 ns of CPU time in %+v", last, s.Place)
	}
}

func TestTimeAfterKernelSamplesGoesToTheLastOfThem(t *testing.T) {
	b := newTimeline()
	b.observe(0, 0, 0, 1, sample.Running)
	for range maxPending { // the last one attributes all
		b.observe(1e6, 0, 0, sampledStack, sample.Running)
	}
	b.observe(7, 0, 100, 2, sample.Sleeping)
	b.l.Finish()
	cpu := map[sample.StackID]int64{}
	for _, s := range b.spans {
		cpu[s.Stack] += s.CPU
	}
	if cpu[sampledStack] != maxPending*1e6+7 || cpu[1] != 0 || cpu[2] != 0 {
		t.Errorf("CPU time by stack %v; want %d of stack %d", cpu, int64(maxPending*1e6+7), sampledStack)
	}
}
