// SPDX-License-Identifier: Apache-2.0

package attribute

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"testing"

	"prywalk/internal/base/sample"
)

// simulated simulates consecutive threads, sampled at independent ticks with probability part. Unobserved time is
// distributed after each samples; 0: at the end.
func simulated(rng *rand.Rand, life, period int64, samples int, part float64, each int) *lives {
	l := newLives()
	th := l.thread(1 + rng.Int64N(period))
	now, last := int64(0), int64(0)
	for n := 1; n <= samples; n++ {
		now = int64(n)*period + rng.Int64N(period/4)
		for th.createdAt+life <= now {
			l.end(th, life)
			th = l.thread(th.createdAt + life + rng.Int64N(period))
		}
		if each > 0 && n%each == 0 {
			l.distributeExitedSoFar(l.used, now)
		}
		if age := now - th.createdAt; age >= 0 && (part == 1 || rng.Float64() < part) {
			l.sample(th, Sample{
				At: sample.Reading{Wall: now, CPU: age}, Place: l.at(age, life), OnCPU: true,
				StandsFor: int64(float64(now-last) / part),
			})
		}
		last = now
	}
	l.finish(now)
	l.used += th.ledger.clocks.last.CPU // of the last thread, which still runs and has no weight
	th.finish()
	return l
}

// queued simulates threads that alternate between some milliseconds on a CPU and, wait times as long, in its queue.
func queued(rng *rand.Rand, life, period int64, samples int, wait int64) *lives {
	l := newLives()
	l.places = 64
	now, last := int64(0), int64(0)
	next, n := period, 1
	for n <= samples {
		th, age := l.thread(now+1), int64(0)
		for on := rng.IntN(2) == 0; age < life; on = !on {
			span := 1 + rng.Int64N(period/2)
			if on {
				span = min(span, life-age)
			} else {
				span *= wait
			}
			for ; next <= now+span; next += period {
				cpu := age
				if on {
					cpu += next - now
				}
				where := l.at(cpu, life)
				where.Stack += sample.StackID(rng.Int64N(l.places))
				l.sample(th, Sample{
					At:    sample.Reading{Wall: next, CPU: cpu, RunQueue: next - th.createdAt - cpu},
					Place: where, OnCPU: on, StandsFor: next - last,
				})
				last = next
				n++
			}
			now += span
			if on {
				age += span
			}
		}
		l.end(th, life)
	}
	l.finish(now)
	return l
}

func TestThreadsThatWaitForACPUHaveAWeightAtEachSample(t *testing.T) {
	const period, samples = 10_000_000, 40_000
	for _, c := range []struct {
		ticks float64
		wait  int64
	}{{0.2, 1}, {0.8, 1}, {1.5, 1}, {3, 1}, {5, 1}, {30, 1}, {0.2, 9}, {1.5, 9}, {5, 9}} {
		t.Run(fmt.Sprint(c.ticks, " ticks, queued ", c.wait, " times as long"), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(2, uint64(c.ticks*10)))
			l := queued(rng, int64(c.ticks*period)+1, period, samples*int(1+c.wait)/2, c.wait)
			found := float64(l.used) / period
			l.check(t, found, 6/math.Sqrt(found))
		})
	}
}

// The samples of lives below one tick are binomial; of longer lives they vary less.
func TestSharesOfShortLivesAreTrue(t *testing.T) {
	const period, samples = 10_000_000, 20_000
	for _, ticks := range []float64{0.1, 0.2, 0.5, 0.8, 1, 1.5, 3, 5, 10, 30, 100} {
		for _, each := range []int{0, 100} {
			t.Run(fmt.Sprint(ticks, " ticks, distributed each ", each), func(t *testing.T) {
				rng := rand.New(rand.NewPCG(1, uint64(ticks*10)))
				l := simulated(rng, int64(ticks*period)+1, period, samples, 1, each)
				found := float64(l.used) / period
				l.check(t, found, 6/math.Sqrt(found))
			})
		}
	}
}

func TestTimeIsDistributedToTheLastNanosecond(t *testing.T) {
	for _, c := range []struct{ total, left int64 }{{0, 0}, {1, 0}, {10, 0}, {599, 0}, {600, 0}, {607, 7}, {-5, -5}} {
		var all weightedSamples
		for i := range 3 {
			all.addWeighted(Place{Stack: sample.StackID(i)}, int64(i)*1e9, 100)
			all.addWeighted(Place{Stack: sample.StackID(i)}, int64(i)*1e9+5, 100)
			all.addWeighted(Place{Stack: sample.StackID(i)}, 0, -7)
		}
		given := int64(0)
		left := all.distribute(c.total, 0, func(k weightKey, ns int64) {
			if given += ns; ns <= 0 || ns > 200 {
				t.Errorf("%d ns for %v, want 1 to 200", ns, k)
			}
		})
		if left != c.left || given != max(min(c.total, 600), 0) {
			t.Errorf("%d ns: %d distributed, %d left; want %d left", c.total, given, left, c.left)
		}
	}
}

func TestOnlyThreadsWithAKnownBeginAndEndHaveWeights(t *testing.T) {
	at := Sample{At: sample.Reading{Wall: 1e9, CPU: 3e6}, OnCPU: true, StandsFor: 10e6}
	l := newLives()
	for what, th := range map[string]*threadAccount{
		"created before the recording": l.thread(0), "asleep": l.thread(1),
	} {
		p, b := &processAccount{}, at
		b.OnCPU = th.createdAt == 0
		th.begin(b.At)
		if th.attributeInterval(&b); len(th.weights) != 0 {
			t.Errorf("thread %s has the weights %v, want none", what, th.weights)
		}
		if p.threads.addWeights(th, p.sampledFromStart); p.threads.samples.weightSum != 0 {
			t.Errorf("thread %s adds a weight of %d, want 0", what, p.threads.samples.weightSum)
		}
	}
	p, th := &processAccount{}, l.thread(1)
	th.begin(at.At)
	for range 3 {
		th.attributeInterval(&at)
		at.At.CPU += at.StandsFor
	}
	if p.threads.addWeights(th, p.sampledFromStart); p.threads.samples.weightSum != 7e6 {
		t.Errorf("weight of %d ns, want 7 ms", p.threads.samples.weightSum)
	}
}

func TestOnlyTheFirstSampleOfALongLifeHasAWeight(t *testing.T) {
	for _, c := range []struct {
		skids           bool
		weight, skidded int64
	}{{false, 7e6, 0}, {true, 0, 7e6}} {
		p, th := &processAccount{}, newLives().thread(1)
		s := Sample{At: sample.Reading{Wall: 1e9, CPU: 3e6}, Place: Place{State: sample.Running}, Skids: c.skids,
			OnCPU: !c.skids, StandsFor: 10e6}
		th.begin(s.At)
		for range 2*longLifeTicks + 1 {
			th.add(&s)
			s.At.Wall, s.At.CPU = s.At.Wall+10e6, s.At.CPU+5e6
			s.OnCPU, s.Skids = true, false
		}
		p.threads.addWeights(th, p.sampledFromStart)
		weight, of := p.threads.samples.weightSum, p.threads.skidded
		if weight != c.weight || of.weight != c.skidded || of.count != c.skidded/7e6 {
			t.Errorf("first sample skids %v: weight %d, %d of %d that skid; want %d, %d", c.skids, weight, of.weight, of.count,
				c.weight, c.skidded)
		}
	}
}

func TestCarriedTimeOfAShortLivedThreadIsUnobserved(t *testing.T) {
	for _, c := range []struct{ samples, back int64 }{{3, 5e6}, {longLifeTicks, 0}} {
		p, th := &processAccount{}, newLives().thread(1)
		th.samples, th.lastStandsFor = c.samples, 10e6
		th.ledger.Begin(sample.Reading{})
		th.ledger.Observe(sample.Reading{Wall: 10e6, CPU: 5e6}, Place{State: sample.Sleeping}, false)
		if p.threads.addWeights(th, p.sampledFromStart); p.threads.unattributed != c.back {
			t.Errorf("%d samples: %d ns unattributed, want %d", c.samples, p.threads.unattributed, c.back)
		}
	}
}

func TestThreadsWithFewSamplesAreShortLived(t *testing.T) {
	for _, c := range []struct {
		name         string
		sampled      bool
		samples      int64
		back, weight int64
	}{
		{"none", true, 0, 5e6, 0},
		{"two of 1 ms", true, 2, 3e6, 18e6},
		{"many of 1 ms", true, longLifeTicks, 0, 9e6},
		{"none, with stops", false, 0, 0, 0},
		{"two, with stops", false, 2, 0, 9e6},
	} {
		p, attributed := &processAccount{sampledFromStart: c.sampled}, int64(0)
		th := &threadAccount{createdAt: 1, samples: longLifeTicks}
		th.ledger.Emit = func(s Span) { attributed += s.CPU }
		th.begin(sample.Reading{})
		for i := int64(1); i <= c.samples; i++ {
			at := sample.Reading{Wall: i * 10e6, CPU: i * 1e6}
			th.add(&Sample{At: at, Place: Place{State: sample.Running}, OnCPU: true, StandsFor: 10e6})
		}
		end := sample.Reading{Wall: 1e9, CPU: max(5e6, c.samples*1e6)}
		th.add(&Sample{At: end, Place: Place{State: sample.Sleeping}})
		p.endThread(th, &End{})
		p.finishThread(th)
		back, weight := p.threads.unattributed, p.threads.samples.weightSum
		if back != c.back || weight != c.weight || attributed+back != end.CPU {
			t.Errorf("%s: unattributed %d, weight %d; want %d and %d; %d attributed of %d", c.name,
				back, weight, c.back, c.weight, attributed, end.CPU)
		}
	}
}

func TestWeightsOfLongRunsAreAsManyAsStacks(t *testing.T) {
	const stacks, seconds, each = 40, 3 * 86400, 10
	p, want := &processAccount{}, map[sample.StackID]int64{}
	for i := range int64(seconds) {
		stack := sample.StackID(i * 7 % stacks)
		p.addUnassignedOfChild(Place{Stack: stack, State: sample.Running}, i*1e9, each)
		want[stack] += each
		n := len(p.children.samples.byPlace)
		if n > maxWeights || p.children.samples.mergeAt > maxWeights {
			t.Fatalf("%d weights after %d s, want at most %d", n, i, maxWeights)
		}
	}
	got, last := map[sample.StackID]int64{}, int64(0)
	rest := p.children.samples.distribute(seconds*each, 0, func(k weightKey, ns int64) {
		got[k.place.Stack] += ns
		last = max(last, k.second)
	})
	if rest != 0 || !maps.Equal(got, want) {
		t.Errorf("%d ns left, by stack %v; want 0 and %v", rest, got, want)
	}
	if last < seconds-1 || last >= 2*seconds {
		t.Errorf("the last weight is of second %d, want %d to %d", last, seconds-1, 2*seconds)
	}
}

func TestWeightsOfManyStacksAreKept(t *testing.T) {
	var wide, narrow weightedSamples
	for i := range int64(3 * maxWeights) {
		wide.addWeighted(Place{Stack: sample.StackID(i % (2 * maxWeights))}, i*1e9, 3)
		narrow.addSample(Place{Stack: sample.StackID(i % 5)}, i%8*1e9, i%2*2)
	}
	if len(wide.byPlace) != 3*maxWeights || wide.sampleCount != 3*maxWeights || wide.bucketSeconds != 0 {
		t.Errorf("%d weights of %d samples, %d s wide; want %d, the same, 0", len(wide.byPlace), wide.sampleCount,
			wide.bucketSeconds, 3*maxWeights)
	}
	wide.widen(64)
	narrow.merge(&wide)
	sum := int64(0)
	for k, w := range narrow.byPlace {
		sum += w.ns
		if narrow.keyAt(k.place, k.second) != k {
			t.Fatalf("key %v is not at a multiple of %d seconds", k, narrow.bucketSeconds)
		}
	}
	if want := int64(9*maxWeights + 3*maxWeights); sum != want || narrow.weightSum != want ||
		narrow.sampleCount != 6*maxWeights {
		t.Errorf("weights %d, total %d, %d samples; want %d, the same, %d", sum, narrow.weightSum, narrow.sampleCount, want,
			6*maxWeights)
	}
}

func TestSubsetsSharesOfShortLivesAreTrue(t *testing.T) {
	const period, samples = 10_000_000, 100_000
	for _, part := range []float64{0.5, 0.1} {
		for _, ticks := range []float64{0.1, 0.5, 1, 1.5, 5, 30, 100} {
			t.Run(fmt.Sprint(ticks, " ticks, probability ", part), func(t *testing.T) {
				rng := rand.New(rand.NewPCG(3, uint64(ticks*10)))
				l := simulated(rng, int64(ticks*period)+1, period, samples, part, 0)
				found := float64(l.used) / period * part
				l.check(t, found, 6/math.Sqrt(found))
			})
		}
	}
}

// Lives of about [longLifeTicks] ticks: chance draws more than that many samples of one, and fewer of another.
func TestSubsetsLivesOfAboutSixteenSamplesHaveStacks(t *testing.T) {
	const period, samples = 10_000_000, 200_000
	for _, part := range []float64{0.5, 0.1} {
		for _, ticks := range []float64{13, 16, 18, 20, 25} {
			rng := rand.New(rand.NewPCG(3, uint64(ticks*10)))
			l := simulated(rng, int64(ticks/part*period)+1, period, samples, part, 0)
			if share := float64(l.unseen) / float64(l.used); share > 0.03 {
				t.Errorf("%v ticks, probability %v: share without a stack is %.4f, want at most 0.03", ticks, part, share)
			}
			for i, ns := range l.attributed {
				if share := float64(ns) / float64(l.used-l.unseen); math.Abs(share-0.25) > 0.025 {
					t.Errorf("%v ticks, probability %v: share of phase %d is %.4f, want 0.25 ± 0.025", ticks, part, i, share)
				}
			}
		}
	}
}

// calling simulates threads with many system calls. One sample in three is exact (own CPU).
func calling(rng *rand.Rand, life, period int64, samples, each int) *lives {
	l := newLives()
	th := l.thread(1 + rng.Int64N(period))
	now := int64(0)
	for n := range samples {
		now = int64(n+1)*period + rng.Int64N(period/4)
		for th.createdAt+life <= now {
			l.end(th, life)
			th = l.thread(th.createdAt + life + rng.Int64N(period))
		}
		if each > 0 && n%each == 0 {
			l.distributeExitedSoFar(l.used, now)
		}
		age := now - th.createdAt
		if age < 0 {
			continue
		}
		s := Sample{At: sample.Reading{Wall: now, CPU: age}, Place: l.at(age, life), OnCPU: true, StandsFor: period}
		if rng.IntN(3) > 0 {
			s.OnCPU, s.Skids = false, true
		}
		l.sample(th, s)
	}
	l.finish(now)
	l.used += th.ledger.clocks.last.CPU - th.ledger.carried.times.cpu
	th.releaseWithheld()
	return l
}

func TestSharesOfShortLivesWithManyCallsAreTrue(t *testing.T) {
	const period, samples = 10_000_000, 20_000
	for i := range 20 {
		life := []int64{1e6, 2e6, 5e6, 8e6, 15e6, 20e6, 30e6, 50e6, 80e6, 150e6}[i/2]
		t.Run(fmt.Sprint(life, " ns, distributed each ", i%2*100), func(t *testing.T) {
			l := calling(rand.New(rand.NewPCG(7, uint64(life))), life, period, samples, i%2*100)
			l.check(t, float64(l.used)/period/3, 0.02)
		})
	}
}

func TestTimeOfSkiddedSamplesGoesToExactOnes(t *testing.T) {
	for _, c := range []struct {
		skidded, first          int64
		total                   int64
		ofFirst, ofSecond, rest int64
	}{
		{1, 20, 1000, 279, 139, 582}, // 10 ns for each of 20 and 10 samples, 10 ns more, and two standard errors
		{20, 20, 100, 66, 34, 0},     // less time than weights
	} {
		p := &processAccount{threads: endedThreadTime{skidded: skidded{count: c.skidded, weight: 10 * c.skidded}}}
		for range c.first {
			p.threads.samples.addWeighted(Place{Stack: 1}, 0, 10)
		}
		for range 10 {
			p.threads.addWeight(&sampleWeight{place: Place{Stack: 2}, weight: 10})
		}
		got := map[sample.StackID]int64{}
		left := p.threads.distribute(c.total, atEnd, func(k weightKey, ns int64) { got[k.place.Stack] += ns })
		if got[1] != c.ofFirst || got[2] != c.ofSecond || left != c.rest {
			t.Errorf("%+v: time by stack %v, %d left", c, got, left)
		}
	}
}

func TestUnobservedTimeIsDistributedWhileTheProcessLives(t *testing.T) {
	p, got := &processAccount{threads: endedThreadTime{cpuAtLastSamples: 1000}}, map[sample.StackID]int64{}
	p.emit = func(s Span) { got[s.Stack] += s.CPU }
	exited := func(ended int64, want1, want2 int64) {
		t.Helper()
		if p.distributeExitedSoFar(ended, 9e9); got[1] != want1 || got[2] != want2 {
			t.Errorf("%d ns used by ended threads: time by stack %v, want %d and %d", ended, got, want1, want2)
		}
	}
	p.threads.samples.addSample(Place{Stack: 1}, 1e9, 30)
	p.threads.samples.addSample(Place{Stack: 2}, 1e9, 10)
	exited(900, 0, 0)
	exited(1020, 15, 5)
	exited(1020, 15, 5)
	p.threads.unattributed = 10
	exited(1020, 22, 8)
	exited(1900, 30, 10)
	p.threads.samples.addSample(Place{Stack: 1}, 3e9, 8)
	exited(1900, 38, 10)
	p.threads.skidded = skidded{count: 1, weight: 160}
	exited(1900, 38, 10)
	for range minProven - 3 {
		p.threads.samples.addSample(Place{Stack: 2}, 4e9, 0)
	}
	exited(1900, 58, 150) // 10 for each sample
	if left := p.unobserved(1900); left != 900-(208-10) || p.attributed != 208-10 {
		t.Errorf("%d ns left of %d used, want %d and %d", left, p.attributed, 900-(208-10), 208-10)
	}
	if p.distributeExited(p.unobserved(1900), 9e9); got[0] != 900+10-208-102 { // two standard errors
		t.Errorf("%d ns without a stack in the end, want %d", got[0], 900+10-208-102)
	}
}

func TestRemainderIsDistributedWhereNoSampleSkids(t *testing.T) {
	p, attributed := &processAccount{sampledFromStart: true}, int64(0)
	for range 100 {
		p.addUnassigned(Place{Stack: 1}, 1e9, 10)
	}
	left := p.threads.distribute(1150, atEnd, func(_ weightKey, ns int64) { attributed += ns })
	if left != 0 || attributed != 1150 {
		t.Errorf("%d ns attributed, %d left; want 1150 and 0", attributed, left)
	}
}
