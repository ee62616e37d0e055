// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"testing"
	"time"

	"prywalk/ptrace"
)

func ticking(period time.Duration, n int) (w gapDetector, now ptrace.Moment) {
	w.begin(1e9, 0)
	for now = 1e9; n > 0; n-- {
		now = now.Add(period)
		w.recordObservation(now)
		w.beginTick(now, period)
	}
	return w, now
}

func TestALongPauseIsAGapAndAFewLateTicksAreNone(t *testing.T) {
	w, now := ticking(10e6, 100)
	if _, length := w.endGap(now.Add(minGap)); length != 0 {
		t.Errorf("%d ns not observed after a pause of %d", length, int64(minGap))
	}
	from, length := w.endGap(now.Add(3e9))
	if from != now || length != 3e9-10e6 || w.gaps != 1 || w.total != length || w.longest != length {
		t.Errorf("not observed from %d for %d, want from %d for %d: %+v", from, length, now, int64(3e9-10e6), w)
	}
	if _, again := w.endGap(now.Add(3e9)); again != 0 {
		t.Errorf("%d counted twice", again)
	}
	w, now = ticking(1e9, 100)
	if _, length := w.endGap(now.Add(3e9)); length != 0 {
		t.Errorf("%d ns not observed", length)
	}
}

func TestARateThatStaysLowIsNoGap(t *testing.T) {
	w, now := ticking(10e6, 100)
	last := 0
	for i := range 100 {
		now = now.Add(300e6)
		if _, length := w.recordObservation(now); length > 0 {
			last = i
		}
		w.beginTick(now, 10e6)
	}
	if last > 10 {
		t.Errorf("a gap before the tick number %d", last)
	}
	w, now = ticking(10e6, 100)
	w.beginTick(now, 1e9)
	if _, length := w.endGap(now.Add(3.9e9)); length != 0 {
		t.Errorf("%d ns not observed at one tick a second", length)
	}
	for range 100 {
		now = now.Add(10e6)
		w.beginTick(now, 10e6)
	}
	w.recordObservation(now)
	if _, length := w.endGap(now.Add(1e9)); length == 0 {
		t.Error("a pause of a second is no gap")
	}
}

func TestSuspensionIsSeenAndAClockThatIsSetIsNone(t *testing.T) {
	w := gapDetector{unixAhead: 5e9, sinceBoot: 7e9}
	kernel := func(suspended int64) func() int64 { return func() int64 { return suspended } }
	none := func() int64 { t.Error("the kernel is asked without need"); return 0 }
	for _, c := range []struct {
		now   ptrace.Moment
		unix  int64
		asks  func() int64
		slept time.Duration
	}{
		{1e9, 6e9, none, 0},
		{2e9, 7e9 + 1e6, none, 0},           // adjusted
		{3e9, 4008e9, kernel(4007e9), 4e12}, // suspended
		{4e9, 4009e9, none, 0},
		{5e9, 9999e9, kernel(4007e9), 0}, // set
		{6e9, 10e9, none, 0},             // set back
		{7e9, 111e9, kernel(4107e9), 100e9},
	} {
		if slept := w.newSuspension(c.now, c.unix, c.asks); slept != c.slept {
			t.Errorf("at %d, Unix time %d: suspended for %d, want %d", c.now, c.unix, slept, c.slept)
		}
	}
	if w.suspended != 4.1e12 {
		t.Errorf("%d in all", w.suspended)
	}
}
