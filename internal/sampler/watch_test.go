package sampler

import (
	"math/rand/v2"
	"testing"
)

// ticking gives a watch that has seen regular ticks, and the moment of the last.
func ticking(period int64, n int) (w watch, now int64) {
	w.beat = 1e9
	for now = 1e9; n > 0; n-- {
		now += period
		w.since(now)
		w.beat = now
		w.tick(now, period)
	}
	return w, now
}

func TestALongPauseIsAGapAndAFewLateTicksAreNone(t *testing.T) {
	w, now := ticking(10e6, 100)
	if _, length := w.since(now + leastGap); length != 0 {
		t.Errorf("%d ns not observed after a pause of %d", length, int64(leastGap))
	}
	from, length := w.since(now + 3e9)
	if from != now || length != 3e9-10e6 || w.gaps != 1 || w.total != length || w.longest != length {
		t.Errorf("not observed from %d for %d, want from %d for %d: %+v", from, length, now, int64(3e9-10e6), w)
	}
	if _, again := w.since(now + 3e9); again != 0 {
		t.Errorf("%d counted twice", again)
	}
	// At one tick a second three seconds are a few ticks.
	w, now = ticking(1e9, 100)
	if _, length := w.since(now + 3e9); length != 0 {
		t.Errorf("%d ns not observed", length)
	}
}

// TestARateThatStaysLowIsNoGap: on a machine that has no time for more than three ticks a second, each look stands
// for a third of a second, after a moment.
func TestARateThatStaysLowIsNoGap(t *testing.T) {
	w, now := ticking(10e6, 100)
	last := 0
	for i := range 100 {
		now += 300e6
		if _, length := w.since(now); length > 0 {
			last = i
		}
		w.beat = now
		w.tick(now, 10e6)
	}
	if last > 10 {
		t.Errorf("a gap before the tick number %d", last)
	}
	// One that a budget has lowered is known at once.
	w, now = ticking(10e6, 100)
	w.tick(now, 1e9)
	if _, length := w.since(now + 3.9e9); length != 0 {
		t.Errorf("%d ns not observed at one tick a second", length)
	}
	// And when ticks come as they should again, pauses are gaps again.
	for range 100 {
		now += 10e6
		w.tick(now, 10e6)
	}
	w.beat = now
	if _, length := w.since(now + 1e9); length == 0 {
		t.Error("a pause of a second is no gap")
	}
}

func TestSuspensionIsSeenAndAClockThatIsSetIsNone(t *testing.T) {
	w := watch{ahead: 5e9, suspended: 7e9}
	kernel := func(suspended int64) func() int64 { return func() int64 { return suspended } }
	none := func() int64 { t.Error("the kernel is asked without need"); return 0 }
	for _, c := range []struct {
		now, unix int64
		asks      func() int64
		slept     int64
	}{
		{1e9, 6e9, none, 0},
		{2e9, 7e9 + 1e6, none, 0},           // adjusted
		{3e9, 4008e9, kernel(4007e9), 4e12}, // suspended
		{4e9, 4009e9, none, 0},
		{5e9, 9999e9, kernel(4007e9), 0}, // set
		{6e9, 10e9, none, 0},             // set back
		{7e9, 111e9, kernel(4107e9), 100e9},
	} {
		if slept := w.wokeUp(c.now, c.unix, c.asks); slept != c.slept {
			t.Errorf("at %d, Unix time %d: suspended for %d, want %d", c.now, c.unix, slept, c.slept)
		}
	}
	if w.slept != 4.1e12 {
		t.Errorf("%d in all", w.slept)
	}
}

func TestUnixTimeGoesOnWhileTheMachineIsSuspended(t *testing.T) {
	a := accountant{epoch: 1000, slept: []wakeUp{{at: 50, length: 7}, {at: 90, length: 20}}}
	for at, want := range map[int64]int64{10: 1010, 50: 1050, 51: 1058, 90: 1097, 91: 1118} {
		if got := a.unix(at); got != want {
			t.Errorf("%d is %d in Unix time, want %d", at, got, want)
		}
	}
}

// TestGapsAreBoundedAndNoneIsLost: by as much as all of them together, and to a part of a gap where they were put together.
func TestGapsAreBoundedAndNoneIsLost(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var g gaps
	var all []gap
	now, sum := int64(0), int64(0)
	for range 20_000 {
		from := now + 1 + rng.Int64N(1e9)
		now = from + 1 + rng.Int64N(1e9)
		g.add(from, now-from)
		all = append(all, gap{from, now, now - from})
		sum += now - from
		if len(g) > mostGaps {
			t.Fatalf("%d gaps", len(g))
		}
		since := now - rng.Int64N(100e9)
		want := int64(0)
		for _, e := range all {
			want += max(0, min(e.to, now)-max(e.from, since))
		}
		if got := g.within(since, now); got < want-1e9 || got > want+1e9 {
			t.Fatalf("%d ns not observed since %d, want %d", got, since, want)
		}
	}
	if got := g.within(0, now); got > sum || got < sum-2*mostGaps {
		t.Errorf("%d ns not observed, want %d", got, sum)
	}
}
