// SPDX-License-Identifier: Apache-2.0

package attribute

import (
	"math/rand/v2"
	"testing"

	"prywalk/internal/sample"
)

// book runs looks through a clock and adds up what it emits.
type book struct {
	c     Clock
	spans []Span
	now   sample.Reading
}

func (b *book) emit(s Span) { b.spans = append(b.spans, s) }

// sampledStack is a stack of which samples tell where its thread runs.
const sampledStack = 5

func (b *book) look(cpu, runq, blocked int64, stack sample.StackID, st sample.State) {
	b.now.Wall += cpu + runq + blocked
	b.now.CPU += cpu
	b.now.RunQueue += runq
	if stack == sampledStack && st == sample.Running {
		b.c.Sample(b.now, Seen{Stack: stack, State: st}, b.emit)
		return
	}
	onCPU := st == sample.Running && stack != 3 || st != sample.Running && stack == 9
	b.c.Look(b.now, Seen{Stack: stack, State: st}, onCPU, b.emit)
}

func (b *book) total() (wall, runq, cpu int64) {
	for _, s := range b.spans {
		wall, runq, cpu = wall+s.Wall, runq+s.RunQueue, cpu+s.CPU
	}
	return wall, runq, cpu
}

func TestRunningIntervalGoesToTheStackAtItsEnd(t *testing.T) {
	var b book
	b.look(0, 0, 0, 1, sample.Running)
	b.look(9, 1, 0, 2, sample.Running)
	b.c.Finish(b.emit)
	last := b.spans[len(b.spans)-1]
	if last.Stack != 2 || last.CPU != 9 || last.RunQueue != 1 || last.Wall != 10 {
		t.Fatalf("%+v", b.spans)
	}
}

func TestCPUOfASleeperIsCarriedToItsNextRunningLook(t *testing.T) {
	var b book
	b.look(0, 0, 0, 1, sample.Sleeping)
	b.look(3, 0, 7, 1, sample.Sleeping)
	b.look(5, 0, 5, 2, sample.Running)
	b.c.Finish(b.emit)
	for _, s := range b.spans {
		if s.Stack == 2 && (s.CPU != 8 || s.Leaf != "") {
			t.Fatalf("running span %+v", s)
		}
		if s.Stack == 1 && (s.CPU != 0 || s.Wall != 12) {
			t.Fatalf("sleeping span %+v", s)
		}
	}
}

func TestCarriedCPUIsBookedAsUnobservedInTheEnd(t *testing.T) {
	var b book
	b.look(0, 0, 0, 1, sample.Sleeping)
	b.look(3, 0, 7, 1, sample.Sleeping)
	b.look(0, 0, 2*carryLimit, 1, sample.Sleeping)
	for _, s := range b.spans {
		if s.Leaf == RanBetweenTicks && s.CPU == 3 && s.Stack == 1 && s.State == sample.Running {
			return
		}
	}
	t.Fatalf("no unobserved span in %+v", b.spans)
}

func TestUnchangedSleepIsOneInterval(t *testing.T) {
	var b book
	b.look(0, 0, 0, 1, sample.Sleeping)
	b.now.Wall += 50
	b.c.Unchanged(b.now, 50)
	b.c.Finish(b.emit)
	if len(b.spans) != 1 || b.spans[0].Samples != 51 || b.spans[0].Wall != 50 {
		t.Fatalf("%+v", b.spans)
	}
}

// TestCPUTimeIsNotGivenToAStackThatOnlyQueued: stack 3 is queued at its look.
func TestCPUTimeIsNotGivenToAStackThatOnlyQueued(t *testing.T) {
	var b book
	b.look(0, 0, 0, 1, sample.Running)
	b.look(8, 2, 0, 3, sample.Running)
	b.look(5, 0, 0, 2, sample.Running)
	b.c.Finish(b.emit)
	for _, s := range b.spans {
		if s.Stack == 3 && (s.CPU != 0 || s.RunQueue != 2) || s.Stack == 2 && s.CPU != 13 {
			t.Fatalf("%+v", b.spans)
		}
	}
}

// TestCPUTimeOfACallThatSleptAtLastIsItsOwn: stack 9 was on a processor when the tick
// was due, and asleep when it was looked at.
func TestCPUTimeOfACallThatSleptAtLastIsItsOwn(t *testing.T) {
	var b book
	b.look(0, 0, 0, 1, sample.Sleeping)
	b.look(8, 2, 5, 9, sample.Sleeping)
	b.c.Finish(b.emit)
	for _, s := range b.spans {
		if s.State == sample.Running && s.Stack == 9 && s.CPU == 8 && s.RunQueue == 2 && s.Samples == 0 {
			return
		}
	}
	t.Fatalf("%+v", b.spans)
}

// TestCPUTimeAfterTheLastLookOnAProcessorGoesThere: no later look can have it.
func TestCPUTimeAfterTheLastLookOnAProcessorGoesThere(t *testing.T) {
	var b book
	b.look(0, 0, 0, 1, sample.Sleeping)
	b.look(5, 0, 0, 2, sample.Running)
	b.look(3, 0, 4, 1, sample.Sleeping)
	b.c.Finish(b.emit)
	var cpu int64
	for _, s := range b.spans {
		if s.Leaf != "" || s.Stack == 1 && s.CPU > 0 {
			t.Fatalf("%+v", b.spans)
		}
		cpu += s.CPU
	}
	if cpu != 8 {
		t.Fatalf("%d of CPU in %+v", cpu, b.spans)
	}
}

// TestClocksAddUp holds the invariant over random histories: nothing is lost,
// nothing is booked twice, nothing is negative.
func TestClocksAddUp(t *testing.T) {
	for seed := range uint64(2000) {
		rng := rand.New(rand.NewPCG(seed, 1))
		var b book
		b.look(0, 0, 0, 1, sample.State(rng.IntN(4)))
		start := b.now
		for range rng.IntN(60) {
			b.look(rng.Int64N(1e8), rng.Int64N(1e8)*rng.Int64N(2), rng.Int64N(4e8)*rng.Int64N(2),
				sample.StackID([]int{0, 1, 2, 3, 9, sampledStack}[rng.IntN(6)]), sample.State(rng.IntN(4)))
			if rng.IntN(5) == 0 {
				blocked := rng.Int64N(1e9)
				if b.c.isOpen {
					b.now.Wall += blocked
					b.c.Unchanged(b.now, 1+rng.Int64N(9))
				}
			}
		}
		b.c.Finish(b.emit)
		wall, runq, cpu := b.total()
		if wall != b.now.Wall-start.Wall || cpu != b.now.CPU-start.CPU || runq != b.now.RunQueue-start.RunQueue {
			t.Fatalf("seed %d: booked wall %d cpu %d runq %d; clocks moved %+v", seed, wall, cpu, runq, b.now)
		}
		for _, s := range b.spans {
			if s.Wall < 0 || s.CPU < 0 || s.RunQueue < 0 || s.Samples < 0 || s.Wall < s.CPU+s.RunQueue {
				t.Fatalf("seed %d: span %+v", seed, s)
			}
			if s.Stack == sampledStack && s.End-s.Wall < start.Wall {
				t.Fatalf("seed %d: it begins before the thread's first look: %+v", seed, s)
			}
		}
	}
}

func TestTimeStillQueuedBelongsToTheStackThatIsQueued(t *testing.T) {
	var b book
	b.look(5, 0, 0, 1, sample.Running)
	at := b.now
	at.Wall += 20
	b.c.Unchanged(at, 2)
	b.look(4, 22, 0, 2, sample.Running)
	b.c.Finish(b.emit)
	var queued, samples int64
	for _, s := range b.spans {
		if s.Stack == 1 {
			queued += s.RunQueue
			samples += s.Samples
		}
	}
	if queued != 20 || samples != 3 {
		t.Fatalf("stack 1 queued %d at %d ticks: %+v", queued, samples, b.spans)
	}
}

// TestSleepEndsWhereTheThreadWasQueued: it was queued already at the last two ticks at which it was found
// unchanged, which the kernel tells of only when the thread arrives on a processor.
func TestSleepEndsWhereTheThreadWasQueued(t *testing.T) {
	var b book
	b.look(0, 0, 0, 1, sample.Sleeping)
	at := b.now
	for range 3 {
		at.Wall += 10
		b.c.Unchanged(at, 1)
	}
	b.look(1, 20, 10, 2, sample.Running) // of 31: asleep for 10
	b.c.Finish(b.emit)
	asleep := b.spans[0]
	if asleep.Wall != 10 || asleep.End != b.now.Wall-21 || asleep.Samples != 4 || b.c.blockedDebt != 0 {
		t.Errorf("%+v, debt %d", asleep, b.c.blockedDebt)
	}
}

// TestQueueTimeFromBeforeTheFirstLookIsNotCounted: the kernel tells of it only when the
// thread arrives on a processor.
func TestQueueTimeFromBeforeTheFirstLookIsNotCounted(t *testing.T) {
	var c Clock
	var got []Span
	emit := func(s Span) { got = append(got, s) }
	at := Seen{Stack: 1, State: sample.Running}
	c.Look(sample.Reading{Wall: 1000, CPU: 50, RunQueue: 10}, at, false, emit)
	// It was queued for 700, of which 400 were before; then it ran for 5.
	c.Look(sample.Reading{Wall: 1305, CPU: 55, RunQueue: 710}, at, true, emit)
	c.Look(sample.Reading{Wall: 1405, CPU: 105, RunQueue: 760}, at, true, emit)
	c.Finish(emit)
	var wall, runq, cpu int64
	for _, s := range got {
		wall, runq, cpu = wall+s.Wall, runq+s.RunQueue, cpu+s.CPU
	}
	if wall != 405 || runq != 350 || cpu != 55 {
		t.Errorf("wall %d, queued %d, cpu %d; want 405, 350, 55", wall, runq, cpu)
	}
}

// TestNoIntervalBeginsBeforeTheFirstLook: the kernel books queue time when the thread
// arrives, so that a look before that takes it for sleep.
func TestNoIntervalBeginsBeforeTheFirstLook(t *testing.T) {
	var b book
	b.look(0, 0, 0, 1, sample.Sleeping)
	b.look(0, 0, 700, 1, sample.Sleeping) // queued for the last 200 of them already
	b.now.RunQueue += 250
	b.now.CPU += 10
	b.now.Wall += 60
	b.c.Look(b.now, Seen{Stack: 2, State: sample.Running}, true, b.emit)
	b.c.Finish(b.emit)
	for _, s := range b.spans {
		if s.End-s.Wall < 0 {
			t.Errorf("from %d to %d: %+v", s.End-s.Wall, s.End, s)
		}
	}
}
