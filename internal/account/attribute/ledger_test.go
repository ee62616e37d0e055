// SPDX-License-Identifier: Apache-2.0

package attribute

import (
	"cmp"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"prywalk/internal/base/sample"
)

type timeline struct {
	l     Ledger
	spans []Span
	now   sample.Reading
}

func newTimeline() *timeline {
	b := &timeline{}
	b.l.Emit = func(s Span) { b.spans = append(b.spans, s) }
	return b
}

const sampledStack = 5

// Stack 3 is queued though its state is running; stack 9 ran in the call in which it sleeps now.
func (b *timeline) observe(cpu, runq, blocked int64, stack sample.StackID, st sample.State) {
	b.now.Wall += cpu + runq + blocked
	b.now.CPU += cpu
	b.now.RunQueue += runq
	if stack == sampledStack && st == sample.Running {
		b.l.AddKernelSample(b.now, Place{Stack: stack, State: st}, 0)
		return
	}
	onCPU := st == sample.Running && stack != 3 || st != sample.Running && stack == 9
	b.l.Observe(b.now, Place{Stack: stack, State: st}, onCPU)
}

func (b *timeline) total() (wall, runq, cpu int64) {
	for _, s := range b.spans {
		wall, runq, cpu = wall+s.Wall, runq+s.RunQueue, cpu+s.CPU
	}
	return wall, runq, cpu
}

func (b *timeline) check(t *testing.T, start sample.Reading) {
	t.Helper()
	wall, runq, cpu := b.total()
	if wall != b.now.Wall-start.Wall || cpu != b.now.CPU-start.CPU || runq != b.now.RunQueue-start.RunQueue {
		t.Errorf("attributed wall %d, CPU %d, run queue %d; want those from %+v to %+v", wall, cpu, runq, start, b.now)
	}
	for _, s := range b.spans {
		if s.Wall < 0 || s.CPU < 0 || s.RunQueue < 0 || s.Samples < 0 || s.Wall < s.CPU+s.RunQueue || s.End > b.now.Wall {
			t.Errorf("span with a negative time, or parts longer than it, or a later end: %+v", s)
		}
		if s.Stack == sampledStack && s.End-s.Wall < start.Wall {
			t.Errorf("span begins before the thread's first sample: %+v", s)
		}
	}
}

func TestRunningIntervalGoesToTheStackAtItsEnd(t *testing.T) {
	b := newTimeline()
	b.observe(0, 0, 0, 1, sample.Running)
	b.observe(9, 1, 0, 2, sample.Running)
	b.l.Finish()
	last := b.spans[len(b.spans)-1]
	if last.Stack != 2 || last.CPU != 9 || last.RunQueue != 1 || last.Wall != 10 {
		t.Fatalf("spans %+v; want the last of stack 2, wall 10, run queue 1, CPU 9", b.spans)
	}
}

func TestCPUOfASleeperIsCarriedToItsNextRunningSample(t *testing.T) {
	b := newTimeline()
	b.observe(0, 0, 0, 1, sample.Sleeping)
	b.observe(3, 0, 7, 1, sample.Sleeping)
	b.observe(5, 0, 5, 2, sample.Running)
	b.l.Finish()
	for _, s := range b.spans {
		if s.Stack == 2 && (s.CPU != 8 || s.Leaf != "") {
			t.Fatalf("running span %+v, want 8 ns of CPU", s)
		}
		if s.Stack == 1 && (s.CPU != 0 || s.Wall != 12) {
			t.Fatalf("sleeping span %+v, want 12 ns of wall time without CPU", s)
		}
	}
}

func TestCarriedCPUOfASleeperIsRanBetweenTicksAfterTheLimit(t *testing.T) {
	b := newTimeline()
	b.observe(0, 0, 0, 1, sample.Sleeping)
	b.observe(3, 0, 7, 1, sample.Sleeping)
	b.observe(0, 0, 2*carryLimit, 2, sample.Sleeping)
	for _, s := range b.spans {
		if s.Leaf == RanBetweenTicks && s.CPU == 3 && s.Stack == 1 && s.State == sample.Running {
			return
		}
	}
	t.Fatalf("no running span of stack 1 with 3 ns under %s in %+v", RanBetweenTicks, b.spans)
}

// Else all that became known in the last seconds of a recording would be in its last moment.
func TestCarriedTimeEndsWhereItBecameKnownOrBeginsAtALaterCut(t *testing.T) {
	for _, ended := range []string{"by the limit", "by the recording's end", "by the recording's end after a cut"} {
		b := newTimeline()
		b.observe(0, 0, 0, 1, sample.Sleeping)
		b.observe(3, 2, 7, 1, sample.Sleeping)
		known := b.now.Wall
		b.observe(0, 0, 10, 1, sample.Sleeping)
		switch ended {
		case "by the limit":
			b.observe(0, 0, 6e9, 1, sample.Sleeping)
		case "by the recording's end after a cut":
			b.l.carried.cut(b.now.Wall)
			b.l.Flush()
			known = b.now.Wall + 3 + 2
			b.observe(0, 0, 10, 1, sample.Sleeping)
		}
		b.l.Finish()
		n := 0
		for _, s := range b.spans {
			if s.CPU != 0 || s.RunQueue != 0 {
				n++
				if s.Leaf != RanBetweenTicks || s.CPU != 3 || s.RunQueue != 2 || s.End != known {
					t.Errorf("ended %s: %+v, want CPU 3, run queue 2 under %s, end %d", ended, s, RanBetweenTicks, known)
				}
			}
		}
		if n != 1 {
			t.Errorf("ended %s: %d spans with CPU time, want 1", ended, n)
		}
	}
}

func TestCarriedCPUOfAQueuedThreadIsOfTheStackLastFoundRunningAfterTheLimit(t *testing.T) {
	b := newTimeline()
	b.observe(0, 0, 0, 2, sample.Running)
	b.observe(0, 0, 5, 1, sample.Sleeping)
	b.observe(3, 0, 7, 1, sample.Sleeping)
	b.observe(0, 1, 2*carryLimit, 3, sample.Running)
	b.observe(4, 0, 0, 4, sample.Running)
	b.l.Finish()
	for _, s := range b.spans {
		want := map[int64]Span{
			0: s,
			3: {Place: Place{Stack: 2, State: sample.Running}, Leaf: RanBetweenTicks, Wall: 3, CPU: 3, End: s.End},
			4: {Place: Place{Stack: 4, State: sample.Running}, Samples: 1, Wall: 4, CPU: 4, End: s.End},
		}[s.CPU]
		if s != want {
			t.Errorf("span %+v, want %+v", s, want)
		}
	}
	b.check(t, sample.Reading{})
}

func TestCarriedCPUOfAThreadThatMayNotBeStoppedIsNotObserved(t *testing.T) {
	b := newTimeline()
	b.observe(0, 0, 0, 1, sample.Sleeping)
	b.l.carried.stopRefused = true
	b.observe(3, 2, 7, 1, sample.Sleeping)
	b.observe(0, 0, 2*carryLimit, 1, sample.Sleeping)
	b.observe(4, 0, 7, 1, sample.Sleeping)
	b.l.Finish()
	for _, s := range b.spans {
		want := map[int64]Span{
			3: {Leaf: NotObserved, RunQueue: 2, Wall: 5},
			4: {Place: Place{Stack: 1}, Leaf: RanBetweenTicks, Wall: 4},
		}[s.CPU]
		if s.CPU == 0 {
			continue
		}
		if s.Leaf != want.Leaf || s.Stack != want.Stack || s.RunQueue != want.RunQueue || s.Wall != want.Wall {
			t.Errorf("span %+v, want 3 ns of CPU alone under %s, and then 4 under %s", s, NotObserved, RanBetweenTicks)
		}
	}
	if _, _, cpu := b.total(); cpu != 7 {
		t.Errorf("%d ns of CPU, want 7: %+v", cpu, b.spans)
	}
}

func TestARunningSampleTakesTheCPUTimeOfRefusedStops(t *testing.T) {
	b := newTimeline()
	b.observe(0, 0, 0, 1, sample.Sleeping)
	b.l.carried.stopRefused = true
	b.observe(3, 0, 7, 1, sample.Sleeping)
	b.observe(5, 0, 0, 2, sample.Running)
	b.observe(4, 0, 6, 1, sample.Sleeping)
	b.observe(0, 0, 2*carryLimit, 1, sample.Sleeping)
	b.l.Finish()
	for _, s := range b.spans {
		if s.CPU == 8 && s.Stack != 2 || s.CPU == 4 && s.Leaf != RanBetweenTicks || s.CPU != 0 && s.CPU != 8 && s.CPU != 4 {
			t.Errorf("span %+v, want 8 ns of CPU in stack 2, and 4 under %s", s, RanBetweenTicks)
		}
	}
}

func TestUnchangedSleepIsOneInterval(t *testing.T) {
	b := newTimeline()
	b.observe(0, 0, 0, 1, sample.Sleeping)
	b.now.Wall += 50
	b.l.ExtendUnchanged(b.now, 50)
	b.l.Finish()
	if len(b.spans) != 1 || b.spans[0].Samples != 51 || b.spans[0].Wall != 50 {
		t.Fatalf("spans %+v, want one of 51 ticks and 50 ns", b.spans)
	}
}

func TestTimeAtAnUnchangedRunCountIsNotLost(t *testing.T) {
	b := newTimeline()
	b.observe(0, 0, 0, 1, sample.Sleeping)
	start := b.now
	b.now.Wall += 10
	b.now.CPU += 3
	b.now.RunQueue += 2
	b.l.ExtendUnchanged(b.now, 1)
	b.l.Finish()
	b.check(t, start)
}

func TestCPUTimeIsNotGivenToAStackThatOnlyQueued(t *testing.T) {
	b := newTimeline()
	b.observe(0, 0, 0, 1, sample.Running)
	b.observe(8, 2, 0, 3, sample.Running)
	b.observe(5, 0, 0, 2, sample.Running)
	b.l.Finish()
	for _, s := range b.spans {
		if s.Stack == 3 && (s.CPU != 0 || s.RunQueue != 2) || s.Stack == 2 && s.CPU != 13 {
			t.Fatalf("spans %+v; want stack 3 queued for 2 ns without CPU, stack 2 with 13 ns of CPU", b.spans)
		}
	}
}

func TestCPUTimeOfACallThatSleptWhenSampledGoesToTheCall(t *testing.T) {
	b := newTimeline()
	b.observe(0, 0, 0, 1, sample.Sleeping)
	b.observe(8, 2, 5, 9, sample.Sleeping)
	b.l.Finish()
	for _, s := range b.spans {
		if s.State == sample.Running && s.Stack == 9 && s.CPU == 8 && s.RunQueue == 2 && s.Samples == 0 {
			return
		}
	}
	t.Fatalf("no running span of stack 9 with 8 ns of CPU, 2 ns queued, at no tick, in %+v", b.spans)
}

func TestCPUTimeAfterTheLastSampleOnACPUGoesThere(t *testing.T) {
	b := newTimeline()
	b.observe(0, 0, 0, 1, sample.Sleeping)
	b.observe(5, 0, 0, 2, sample.Running)
	b.observe(3, 0, 4, 1, sample.Sleeping)
	b.l.Finish()
	var cpu int64
	for _, s := range b.spans {
		if s.Leaf != "" || s.Stack == 1 && s.CPU > 0 {
			t.Fatalf("CPU time is not the running stack's: %+v", b.spans)
		}
		cpu += s.CPU
	}
	if cpu != 8 {
		t.Fatalf("spans have %d ns of CPU, want 8: %+v", cpu, b.spans)
	}
}

func TestClocksAddUp(t *testing.T) {
	for seed := range uint64(2000) {
		rng := rand.New(rand.NewPCG(seed, 1))
		b := newTimeline()
		b.observe(0, 0, 0, 1, sample.State(rng.IntN(4)))
		start := b.now
		for range rng.IntN(60) {
			b.observe(rng.Int64N(1e8), rng.Int64N(1e8)*rng.Int64N(2), rng.Int64N(4e8)*rng.Int64N(2),
				sample.StackID([]int{0, 1, 2, 3, 9, sampledStack}[rng.IntN(6)]), sample.State(rng.IntN(4)))
			if rng.IntN(5) == 0 {
				blocked := rng.Int64N(1e9)
				if b.l.sleep.open {
					b.now.Wall += blocked
					b.l.ExtendUnchanged(b.now, 1+rng.Int64N(9))
				}
			}
		}
		b.l.Finish()
		if b.check(t, start); t.Failed() {
			t.Fatal("seed", seed)
		}
	}
}

func TestTimeStillQueuedBelongsToTheStackThatIsQueued(t *testing.T) {
	b := newTimeline()
	b.observe(5, 0, 0, 1, sample.Running)
	at := b.now
	at.Wall += 20
	b.l.ExtendUnchanged(at, 2)
	b.observe(4, 22, 0, 2, sample.Running)
	b.l.Finish()
	var queued, samples int64
	for _, s := range b.spans {
		if s.Stack == 1 {
			queued += s.RunQueue
			samples += s.Samples
		}
	}
	if queued != 20 || samples != 3 {
		t.Fatalf("stack 1 queued for %d ns at %d ticks, want 20 and 3: %+v", queued, samples, b.spans)
	}
}

func TestSleepEndsWhereTheThreadWasQueued(t *testing.T) {
	b := newTimeline()
	b.observe(0, 0, 0, 1, sample.Sleeping)
	at := b.now
	for range 3 {
		at.Wall += 10
		b.l.ExtendUnchanged(at, 1)
	}
	b.observe(1, 20, 10, 2, sample.Running) // of 31: asleep for 10
	b.l.Finish()
	asleep := b.spans[0]
	if asleep.Wall != 10 || asleep.End != b.now.Wall-21 || asleep.Samples != 4 || b.l.clocks.blockedDebt != 0 {
		t.Errorf("sleep %+v, debt %d; want 10 ns to %d at 4 ticks, no debt", asleep, b.l.clocks.blockedDebt, b.now.Wall-21)
	}
}

func TestQueueTimeFromBeforeTheFirstSampleIsNotCounted(t *testing.T) {
	var l Ledger
	var got []Span
	l.Emit = func(s Span) { got = append(got, s) }
	at := Place{Stack: 1, State: sample.Running}
	l.Observe(sample.Reading{Wall: 1000, CPU: 50, RunQueue: 10}, at, false)
	// Queued for 700, of which 400 before the first sample; then 5 on CPU.
	l.Observe(sample.Reading{Wall: 1305, CPU: 55, RunQueue: 710}, at, true)
	l.Observe(sample.Reading{Wall: 1405, CPU: 105, RunQueue: 760}, at, true)
	l.Finish()
	var wall, runq, cpu int64
	for _, s := range got {
		wall, runq, cpu = wall+s.Wall, runq+s.RunQueue, cpu+s.CPU
	}
	if wall != 405 || runq != 350 || cpu != 55 {
		t.Errorf("wall %d, queued %d, cpu %d; want 405, 350, 55", wall, runq, cpu)
	}
}

func TestNoIntervalBeginsBeforeTheFirstSample(t *testing.T) {
	b := newTimeline()
	b.observe(0, 0, 0, 1, sample.Sleeping)
	b.observe(0, 0, 700, 1, sample.Sleeping) // queued for the last 200
	b.now.RunQueue += 250
	b.now.CPU += 10
	b.now.Wall += 60
	b.l.Observe(b.now, Place{Stack: 2, State: sample.Running}, true)
	b.l.Finish()
	for _, s := range b.spans {
		if s.End-s.Wall < 0 {
			t.Errorf("span from %d to %d begins before the first sample: %+v", s.End-s.Wall, s.End, s)
		}
	}
}

func TestUnobservedTimeOfASleeperIsSettledAfterALimit(t *testing.T) {
	b := newTimeline()
	b.observe(0, 0, 0, 1, sample.Sleeping)
	b.observe(7, 2, 100, 1, sample.Sleeping)
	cpu := func() (ns int64) {
		b.l.AttributeOverdue()
		for _, s := range b.spans {
			ns += s.CPU
		}
		return ns
	}
	if n := cpu(); n != 0 {
		t.Errorf("%d ns of CPU attributed before the limit, want 0", n)
	}
	b.now.Wall += carryLimit + 1
	b.l.ExtendUnchanged(b.now, 3)
	if n := cpu(); n != 7 {
		t.Errorf("%d ns of CPU attributed after the limit, want 7", n)
	}
	if n := cpu(); n != 7 {
		t.Errorf("%d ns of CPU attributed after a second AttributeOverdue, want 7", n)
	}
}

func TestIntervalsAreAsTheExampleSays(t *testing.T) {
	at := func(wall, cpu, runQueue float64) sample.Reading {
		return sample.Reading{Wall: int64(wall * 1e6), CPU: int64(cpu * 1e6), RunQueue: int64(runQueue * 1e6)}
	}
	got := map[sample.StackID]Span{}
	l := Ledger{Emit: func(s Span) {
		sum := got[s.Stack]
		got[s.Stack] = Span{Wall: sum.Wall + s.Wall, RunQueue: sum.RunQueue + s.RunQueue, CPU: sum.CPU + s.CPU}
	}}
	const parse, wait, write = 1, 2, 3
	l.Begin(at(0, 100, 5))
	l.Observe(at(10, 107, 6), Place{Stack: parse, State: sample.Running}, true)
	l.Observe(at(20, 110, 6), Place{Stack: wait, State: sample.Sleeping}, false)
	l.ExtendUnchanged(at(30, 110, 6), 1)
	l.Observe(at(40, 114, 6.5), Place{Stack: write, State: sample.Running}, true)
	l.Finish()
	if want := map[sample.StackID]Span{
		parse: {Wall: 8e6, RunQueue: 1e6, CPU: 7e6}, wait: {Wall: 24.5e6}, write: {Wall: 7.5e6, RunQueue: 0.5e6, CPU: 7e6},
	}; !maps.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestAnOpenSleepHasItsTimeBeforeACut(t *testing.T) {
	b := newTimeline()
	before := func() (ns int64) {
		b.l.EmitOpen(func(s Span) { ns = s.Before })
		return ns
	}
	wants := func(what string, want int64) {
		t.Helper()
		if n := before(); n != want {
			t.Errorf("%s: %d ns before the last cut, want %d", what, n, want)
		}
	}
	b.observe(0, 0, 0, 1, sample.Sleeping)
	b.observe(0, 0, 700, 1, sample.Sleeping)
	wants("no cut", 0)
	b.l.Flush()
	wants("directly after the cut", 700)
	b.observe(0, 0, 300, 1, sample.Sleeping)
	wants("a cut", 700)
	b.l.Flush()
	wants("directly after the second cut", 1000)
	b.observe(0, 0, 50, 1, sample.Sleeping)
	wants("two cuts", 1000)
	b.observe(10, 0, 10, 1, sample.Sleeping)
	wants("it has run since", 0)
	b.observe(10, 0, 10, 2, sample.Sleeping)
	wants("another sleep", 0)
	for _, s := range b.spans {
		if s.Before != 0 {
			t.Errorf("a final span has %d ns before a cut", s.Before)
		}
	}
}

// A thread that ran after its last sample did not sleep to the end: a cycle of such waits is no deadlock.
func TestASleepEndsBeforeTheTimeWithoutASampleAtTheEnd(t *testing.T) {
	b := newTimeline()
	b.observe(0, 0, 0, 1, sample.Sleeping)
	b.observe(3, 0, 100, 1, sample.Sleeping) // carried, and ends before
	b.now.Wall, b.now.CPU, b.now.RunQueue = b.now.Wall+50, b.now.CPU+6, b.now.RunQueue+3
	b.l.EndWithoutSample(b.now, 1000)
	b.l.Finish()
	for _, s := range b.spans {
		if want := b.now.Wall - 9; s.State == sample.Sleeping && s.End != want {
			t.Errorf("a sleep ends at %d, want %d: %+v", s.End, want, b.spans)
		}
	}
	if last := slices.MaxFunc(b.spans, func(x, y Span) int { return cmp.Compare(x.End, y.End) }); last.CPU == 0 {
		t.Errorf("the last span is %+v, want what ran", last)
	}
	b.check(t, sample.Reading{})
}

// A woken thread that queues is unchanged, and its sleep grows, until the queue time is charged.
func TestASleepThatALongQueueTimeEndsPaysForLateCharges(t *testing.T) {
	const ms = 1e6
	b := newTimeline()
	b.observe(0, 0, 0, 1, sample.Sleeping)
	b.now.Wall += 240 * ms
	b.l.ExtendUnchanged(b.now, 24)
	b.now.Wall, b.now.RunQueue = b.now.Wall+10*ms, b.now.RunQueue+250*ms
	b.l.Observe(b.now, Place{Stack: 2, State: sample.Sleeping}, false)
	b.observe(0, 0, 300*ms, 2, sample.Sleeping)
	b.l.Finish()
	b.check(t, sample.Reading{})
	asleep := map[sample.StackID]int64{}
	for _, s := range b.spans {
		asleep[s.Stack] += s.Wall - s.RunQueue
	}
	if asleep[1] != 0 || asleep[2] != 300*ms {
		t.Errorf("asleep in stacks %v, want 0 in 1 and 300 ms in 2: %+v", asleep, b.spans)
	}
}
