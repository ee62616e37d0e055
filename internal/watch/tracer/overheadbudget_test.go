// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"math/rand/v2"
	"testing"
	"time"

	"prywalk/ptrace"
)

// Stops are mostly short and sometimes very long.
func budgetRun(t *testing.T, share, freq float64, seed uint64) (p overheadBudget, ticks int64) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 7))
	p = newOverheadBudget(freq, share, 2)
	sched := newTicks(0, freq)
	ran, last, running, tickLoss := 0.0, ptrace.Moment(0), 1, 0.0
	for now := ptrace.Moment(0); now < 60e9; {
		if rng.IntN(200) == 0 {
			running = rng.IntN(5)
		}
		ran += float64(now.Sub(last)) * float64(running)
		last = now
		p.setTargetCPU(time.Duration(ran))
		if p.overdrawn() > tickLoss {
			t.Fatalf("at %v targets have lost %v more than they may, in the last tick %v", time.Duration(now), p.overdrawn(),
				tickLoss)
		}
		if p.overdrawn() == 0 {
			ticks++
			before := p.lost
			for range running {
				length := time.Duration(15e3 + rng.Int64N(30e3))
				if rng.IntN(500) == 0 {
					length = time.Duration(rng.Int64N(8e6))
				}
				p.addStop(length)
			}
			tickLoss = p.lost - before
		}
		sched.setRate(now, p.updateRate(now))
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
	p := newOverheadBudget(777, 0, 2)
	p.addStop(1e9)
	if p.updateRate(1e9) != 777 || p.overdrawn() != 0 {
		t.Errorf("%v/s, %v overdrawn", p.updateRate(1e9), p.overdrawn())
	}
}

func TestPrywalksOwnTimeIsKeptWithinTheShareOfAllCPUs(t *testing.T) {
	p := newOverheadBudget(1000, 0.02, 4)
	p.limitsOwn = true
	self := time.Duration(0)
	for range firstTicks {
		self += 20e6 // tables are read
		p.recordTick(self, 1)
	}
	if r := p.updateRate(1e9); r != 1000 {
		t.Errorf("%v/s because of how it began", r)
	}
	for range 100 {
		self += 1e6
		p.recordTick(self, 1)
	}
	if r := p.updateRate(1e9); r < 79 || r > 81 { // of four seconds 80 ms, 1 ms a tick
		t.Errorf("%v/s with 1 ms a tick", r)
	}
	for range 1000 {
		self += 1e9
		p.recordTick(self, 1)
	}
	if r := p.updateRate(1e9) * p.observedPart; r < 0.079 || r > 0.081 {
		t.Errorf("all threads observed %v times a second with 1 s a tick", r)
	}
	for range 1000 {
		self += 1000e9
		p.recordTick(self, 1)
	}
	if r := p.updateRate(1e9); r != minRate {
		t.Errorf("%v/s", r)
	}
}

func TestAShortStopOfASleepingTargetWithholdsNoTick(t *testing.T) {
	p := newOverheadBudget(99, 0.02, 2)
	p.setTargetCPU(1e5) // 0.1 ms
	for range 5 {
		p.addStop(150e3)
		p.recordTick(0, 1)
	}
	if p.overdrawn() > 0 {
		t.Errorf("overdrawn by %v ns", p.overdrawn())
	}
	if p.addStop(300e3); p.overdrawn() == 0 {
		t.Error("there is no limit")
	}
}

func TestRareLongStopsLeaveTheRate(t *testing.T) {
	p := newOverheadBudget(99, 0.02, 2)
	for i := range int64(2000) { // one busy thread; five stops a second of 2 ms
		now := (i + 1) * 10e6
		p.setTargetCPU(time.Duration(now))
		if i%20 == 0 {
			p.addStop(2e6)
		}
		p.recordTick(0, 1)
		if rate := p.updateRate(ptrace.Moment(now)); i > 500 && rate < 99 {
			t.Fatalf("tick %d: %v/s, overdrawn by %v ns", i, rate, p.overdrawn())
		}
	}
}

func TestSamplesOfTheKernelAreWithinTheBudget(t *testing.T) {
	const running = 2
	for _, share := range []float64{0.0005, 0.002, 0.01, 0.5} {
		p := newOverheadBudget(1000, share, 2)
		lost, sampled := 0.0, 0.0
		for now := ptrace.Moment(1e9); now < 60e9; now = now.Add(1e9) {
			p.setTargetCPU(time.Duration(running * int64(now)))
			sampled += running * p.sampleRate(p.updateRate(now))
			p.chargeSamples(int64(sampled))
			lost = p.lost
			if p.overdrawn() > 0 {
				t.Fatalf("%v: overdrawn by %v ns after %d s", share, p.overdrawn(), now/1e9)
			}
		}
		if want := min(sampleShare*share*running*59e9, 1000*running*59*SampleCost); lost > want*1.01 || lost < want*0.9 {
			t.Errorf("%v: %v ns lost, want %v", share, lost, want)
		}
	}
}

func TestSamplesOfTheKernelFollowTheTicks(t *testing.T) {
	p := newOverheadBudget(99, 0.5, 2)
	for ticks, want := range map[float64]float64{99: 99, 20: 99, 10: 80, 1: 8} {
		if got := p.sampleRate(ticks); got != want {
			t.Errorf("%v ticks/s: %v samples/s, want %v", ticks, got, want)
		}
	}
	if p = newOverheadBudget(99, 0, 2); p.sampleRate(1) != 99 {
		t.Error("without a limit the rate is lowered")
	}
}

// Each thread is stopped for 90 µs; all CPUs are busy.
func observeMany(p *overheadBudget, threads, ticks int) (admitted []int, overdrawn float64) {
	const period, stop = time.Duration(10e6), time.Duration(90e3)
	for i := range ticks {
		now := time.Duration(i) * period
		p.setTargetCPU(2 * now)
		if p.overdrawn() > 0 {
			admitted = append(admitted, 0)
			continue
		}
		n := p.admit(threads)
		for range n {
			p.addStop(stop)
		}
		p.recordTick(0, int64(n))
		admitted = append(admitted, n)
		overdrawn = max(overdrawn, p.overdrawn())
	}
	return admitted, overdrawn
}

func TestNoTickOfManyThreadsTakesTheLossOfMany(t *testing.T) {
	const threads, cost = 3000, 100e3
	p := newOverheadBudget(99, 0.001, 2)
	admitted, overdrawn := observeMany(&p, threads, 1000)
	if admitted[0] != firstThreads || overdrawn > firstThreads*cost {
		t.Errorf("%d in the first tick; overdrawn by up to %v ns", admitted[0], overdrawn)
	}
	sum := 0
	for _, n := range admitted {
		sum += n
	}
	if most := p.allowed() / cost; float64(sum) < 0.9*most || float64(sum) > most+firstThreads {
		t.Errorf("%d observations, the limit permits %.0f", sum, most)
	}
	if !p.observesPart() {
		t.Error("all are observed")
	}
	none := newOverheadBudget(99, 0, 2)
	if n := none.admit(threads); n != threads || none.observesPart() {
		t.Errorf("without a limit %d of %d are observed", n, threads)
	}
}

func TestTicksSoonObserveAllThreadsIfTheLimitPermitsIt(t *testing.T) {
	const threads = 200
	p := newOverheadBudget(99, 0.9, 2)
	p.ran = 60e9
	for want := firstThreads; want < 2*threads; want *= 2 {
		if got := p.admit(threads); got != min(want, threads) {
			t.Errorf("%d observed, want %d", got, want)
		}
		p.recordTick(0, 1)
	}
	if p.observesPart() {
		t.Error("a part is observed")
	}
	if p.admit(0) != 0 || p.admit(1) != 1 {
		t.Error("with no or one due thread")
	}
}
