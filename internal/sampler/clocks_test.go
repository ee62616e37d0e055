package sampler

import (
	"math/rand/v2"
	"testing"

	"prywalk/internal/profile"
)

// book runs looks through a clock and adds up what it emits.
type book struct {
	c      threadClock
	slices []slice
	now    Reading
}

func (b *book) emit(s slice) { b.slices = append(b.slices, s) }

func (b *book) look(cpu, runq, blocked int64, stack profile.StackID, st State) {
	b.now.Wall += cpu + runq + blocked
	b.now.CPU += cpu
	b.now.RunQueue += runq
	b.c.look(b.now, seen{stack: stack, state: st}, st == Running && stack != 3 || st != Running && stack == 9, b.emit)
}

func (b *book) total() (wall, runq, cpu int64) {
	for _, s := range b.slices {
		wall, runq, cpu = wall+s.wall, runq+s.runq, cpu+s.cpuRun
	}
	return wall, runq, cpu
}

func TestRunningIntervalGoesToTheStackAtItsEnd(t *testing.T) {
	var b book
	b.look(0, 0, 0, 1, Running)
	b.look(9, 1, 0, 2, Running)
	b.c.finish(b.emit)
	last := b.slices[len(b.slices)-1]
	if last.stack != 2 || last.cpuRun != 9 || last.runq != 1 || last.wall != 10 {
		t.Fatalf("%+v", b.slices)
	}
}

func TestCPUOfASleeperIsCarriedToItsNextRunningLook(t *testing.T) {
	var b book
	b.look(0, 0, 0, 1, Sleeping)
	b.look(3, 0, 7, 1, Sleeping)
	b.look(5, 0, 5, 2, Running)
	b.c.finish(b.emit)
	for _, s := range b.slices {
		if s.stack == 2 && (s.cpuRun != 8 || s.leaf != "") {
			t.Fatalf("running slice %+v", s)
		}
		if s.stack == 1 && (s.cpuRun != 0 || s.wall != 12) {
			t.Fatalf("sleeping slice %+v", s)
		}
	}
}

func TestCarriedCPUIsBookedAsUnobservedInTheEnd(t *testing.T) {
	var b book
	b.look(0, 0, 0, 1, Sleeping)
	b.look(3, 0, 7, 1, Sleeping)
	b.look(0, 0, 2*carryLimit, 1, Sleeping)
	for _, s := range b.slices {
		if s.leaf == RanBetweenTicks && s.cpuRun == 3 && s.stack == 1 && s.state == Running {
			return
		}
	}
	t.Fatalf("no unobserved slice in %+v", b.slices)
}

func TestUnchangedSleepIsOneInterval(t *testing.T) {
	var b book
	b.look(0, 0, 0, 1, Sleeping)
	b.now.Wall += 50
	b.c.unchanged(b.now, 50)
	b.c.finish(b.emit)
	if len(b.slices) != 1 || b.slices[0].samples != 51 || b.slices[0].wall != 50 {
		t.Fatalf("%+v", b.slices)
	}
}

// TestCPUTimeIsNotGivenToAStackThatOnlyQueued: stack 3 is queued at its look.
func TestCPUTimeIsNotGivenToAStackThatOnlyQueued(t *testing.T) {
	var b book
	b.look(0, 0, 0, 1, Running)
	b.look(8, 2, 0, 3, Running)
	b.look(5, 0, 0, 2, Running)
	b.c.finish(b.emit)
	for _, s := range b.slices {
		if s.stack == 3 && (s.cpuRun != 0 || s.runq != 2) || s.stack == 2 && s.cpuRun != 13 {
			t.Fatalf("%+v", b.slices)
		}
	}
}

// TestCPUTimeOfACallThatSleptAtLastIsItsOwn: stack 9 was on a processor when the tick
// was due, and asleep when it was looked at.
func TestCPUTimeOfACallThatSleptAtLastIsItsOwn(t *testing.T) {
	var b book
	b.look(0, 0, 0, 1, Sleeping)
	b.look(8, 2, 5, 9, Sleeping)
	b.c.finish(b.emit)
	for _, s := range b.slices {
		if s.state == Running && s.stack == 9 && s.cpuRun == 8 && s.runq == 2 && s.samples == 0 {
			return
		}
	}
	t.Fatalf("%+v", b.slices)
}

// TestCPUTimeAfterTheLastLookOnAProcessorGoesThere: no later look can have it.
func TestCPUTimeAfterTheLastLookOnAProcessorGoesThere(t *testing.T) {
	var b book
	b.look(0, 0, 0, 1, Sleeping)
	b.look(5, 0, 0, 2, Running)
	b.look(3, 0, 4, 1, Sleeping)
	b.c.finish(b.emit)
	var cpu int64
	for _, s := range b.slices {
		if s.leaf != "" || s.stack == 1 && s.cpuRun > 0 {
			t.Fatalf("%+v", b.slices)
		}
		cpu += s.cpuRun
	}
	if cpu != 8 {
		t.Fatalf("%d of CPU in %+v", cpu, b.slices)
	}
}

// TestClocksAddUp holds the invariant over random histories: nothing is lost,
// nothing is booked twice, nothing is negative.
func TestClocksAddUp(t *testing.T) {
	for seed := range uint64(2000) {
		rng := rand.New(rand.NewPCG(seed, 1))
		var b book
		b.look(0, 0, 0, 1, State(rng.IntN(4)))
		start := b.now
		for range rng.IntN(60) {
			b.look(rng.Int64N(1e8), rng.Int64N(1e8)*rng.Int64N(2), rng.Int64N(4e8)*rng.Int64N(2),
				profile.StackID([]int{0, 1, 2, 3, 9}[rng.IntN(5)]), State(rng.IntN(4)))
			if rng.IntN(5) == 0 {
				blocked := rng.Int64N(1e9)
				if b.c.isOpen {
					b.now.Wall += blocked
					b.c.unchanged(b.now, 1+rng.Int64N(9))
				}
			}
		}
		b.c.finish(b.emit)
		wall, runq, cpu := b.total()
		if wall != b.now.Wall-start.Wall || cpu != b.now.CPU-start.CPU || runq != b.now.RunQueue-start.RunQueue {
			t.Fatalf("seed %d: booked wall %d cpu %d runq %d; clocks moved %+v", seed, wall, cpu, runq, b.now)
		}
		for _, s := range b.slices {
			if s.wall < 0 || s.cpuRun < 0 || s.runq < 0 || s.samples < 0 || s.wall < s.cpuRun+s.runq {
				t.Fatalf("seed %d: slice %+v", seed, s)
			}
		}
	}
}

func TestTimeStillQueuedBelongsToTheStackThatIsQueued(t *testing.T) {
	var b book
	b.look(5, 0, 0, 1, Running)
	at := b.now
	at.Wall += 20
	b.c.unchanged(at, 2)
	b.look(4, 22, 0, 2, Running)
	b.c.finish(b.emit)
	var queued, samples int64
	for _, s := range b.slices {
		if s.stack == 1 {
			queued += s.runq
			samples += s.samples
		}
	}
	if queued != 20 || samples != 3 {
		t.Fatalf("stack 1 queued %d at %d ticks: %+v", queued, samples, b.slices)
	}
}

// TestSleepEndsWhereTheThreadWasQueued: it was queued already at the last two ticks at which it was found
// unchanged, which the kernel tells of only when the thread arrives on a processor.
func TestSleepEndsWhereTheThreadWasQueued(t *testing.T) {
	var b book
	b.look(0, 0, 0, 1, Sleeping)
	at := b.now
	for range 3 {
		at.Wall += 10
		b.c.unchanged(at, 1)
	}
	b.look(1, 20, 10, 2, Running) // of 31: asleep for 10
	b.c.finish(b.emit)
	asleep := b.slices[0]
	if asleep.wall != 10 || asleep.end != b.now.Wall-21 || asleep.samples != 4 || b.c.blockedDebt != 0 {
		t.Errorf("%+v, debt %d", asleep, b.c.blockedDebt)
	}
}

// TestQueueTimeFromBeforeTheFirstLookIsNotCounted: the kernel tells of it only when the
// thread arrives on a processor.
func TestQueueTimeFromBeforeTheFirstLookIsNotCounted(t *testing.T) {
	var c threadClock
	var got []slice
	emit := func(s slice) { got = append(got, s) }
	at := seen{stack: 1, state: Running}
	c.look(Reading{Wall: 1000, CPU: 50, RunQueue: 10}, at, false, emit)
	// It was queued for 700, of which 400 were before; then it ran for 5.
	c.look(Reading{Wall: 1305, CPU: 55, RunQueue: 710}, at, true, emit)
	c.look(Reading{Wall: 1405, CPU: 105, RunQueue: 760}, at, true, emit)
	c.finish(emit)
	var wall, runq, cpu int64
	for _, s := range got {
		wall, runq, cpu = wall+s.wall, runq+s.runq, cpu+s.cpuRun
	}
	if wall != 405 || runq != 350 || cpu != 55 {
		t.Errorf("wall %d, queued %d, cpu %d; want 405, 350, 55", wall, runq, cpu)
	}
}

// TestNoIntervalBeginsBeforeTheFirstLook: the kernel books queue time when the thread
// arrives, so that a look before that takes it for sleep.
func TestNoIntervalBeginsBeforeTheFirstLook(t *testing.T) {
	var b book
	b.look(0, 0, 0, 1, Sleeping)
	b.look(0, 0, 700, 1, Sleeping) // queued for the last 200 of them already
	b.now.RunQueue += 250
	b.now.CPU += 10
	b.now.Wall += 60
	b.c.look(b.now, seen{stack: 2, state: Running}, true, b.emit)
	b.c.finish(b.emit)
	for _, s := range b.slices {
		if s.end-s.wall < 0 {
			t.Errorf("from %d to %d: %+v", s.end-s.wall, s.end, s)
		}
	}
}
