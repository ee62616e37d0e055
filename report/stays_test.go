// SPDX-License-Identifier: Apache-2.0

package report

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	rec "prywalk/internal/store/profile"
)

type trueStay struct{ from, to int64 }

// recordStays records a thread as at jittered ticks: it stays in handle for drawn lengths, of which every fiftieth is
// a long wait for a lock, and in between it is elsewhere. Equal neighbours are one interval, as in a recording.
func recordStays(r *rand.Rand, n int) (c *contention, truth []trueStay) {
	c = newContention()
	c.p.TimeNanos = 1e15
	at := int64(50e6)
	for i := range n {
		length := int64(5e6 + r.ExpFloat64()*60e6)
		if i%50 == 49 {
			length += 400e6
		}
		truth = append(truth, trueStay{at, at + length})
		at += length + int64(25e6+r.Float64()*100e6)
	}
	var last *trueStay
	from, ticks, previous := int64(0), int64(0), int64(0)
	flush := func() {
		lock := ""
		if last != nil && (last.to-last.from) > 400e6 {
			lock = "mutex slow"
		}
		if ticks > 0 {
			c.add(7, map[bool]string{true: "handle", false: "other"}[last != nil], from, previous, lock, 0)
			c.p.Sample[len(c.p.Sample)-1].Value[0] = ticks
		}
		from, ticks = previous, 0
	}
	for look := int64(0); look < at; look += int64(10e6 * (0.8 + 0.4*r.Float64())) {
		i, _ := slices.BinarySearchFunc(truth, look, func(s trueStay, t int64) int { return int(min(1, max(-1, s.to-t))) })
		var now *trueStay
		if i < len(truth) && truth[i].from <= look {
			now = &truth[i]
		}
		if now != last {
			flush()
			last = now
		}
		previous, ticks = look, ticks+1
	}
	flush()
	c.p.DurationNanos = previous
	return c, truth
}

func staysOf(t *testing.T, c *contention, over time.Duration, o Options) (r jsonStays) {
	t.Helper()
	var b strings.Builder
	if err := Stays(&b, c.p, "handle", StayOptions{Over: over, Window: time.Second}, true, o); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(b.String()), &r); err != nil {
		t.Fatal(err)
	}
	return r
}

// The slowest stays are listed, so their lengths must be in the intervals.
func TestIntervalsOfStaysHoldTheTrueLengths(t *testing.T) {
	seen, held := 0, 0
	for seed := range uint64(20) {
		c, truth := recordStays(rand.New(rand.NewPCG(seed, 3)), 100)
		r := staysOf(t, c, 0, Options{})
		for i := range r.Slowest {
			st := &r.Slowest[i]
			for _, s := range truth {
				if st.Begin <= s.from && s.from < st.Begin+st.Length {
					seen++
					if length := s.to - s.from; st.Low <= length && (length <= st.High || st.High == 0) {
						held++
					}
				}
			}
		}
	}
	if seen < 1700 || float64(held) < 0.95*float64(seen) {
		t.Errorf("%d of %d intervals hold the length", held, seen)
	}
}

func TestSlowStaysAreExplainedByWhatUsualOnesDoNotDo(t *testing.T) {
	c, _ := recordStays(rand.New(rand.NewPCG(1, 1)), 500)
	r := staysOf(t, c, 400*time.Millisecond, Options{})
	if r.Slow.Stays != 10 || r.Slow.Blocked < 400e6 || r.Usual.Blocked != 0 || r.Usual.CPU == 0 {
		t.Errorf("slow %+v, usual %+v", r.Slow, r.Usual)
	}
	if top := r.Causes[0]; top.Function != "handle" || !strings.Contains(top.Wait, "mutex slow") || top.Usual != 0 {
		t.Errorf("%+v", top)
	}
	n := 0
	for _, b := range r.Histogram {
		n += b.Stays
	}
	if n != r.Stays || r.Short == 0 {
		t.Errorf("%d stays in the histogram of %d; %d are short", n, r.Stays, r.Short)
	}
}

func TestWindowsWithSlowStaysAreFound(t *testing.T) {
	c := newContention()
	for tid := range int64(4) {
		c.add(1+tid, "other", 0, 100e6, "", 0)
		c.add(1+tid, "handle", 100e6, 150e6, "", 0)
		c.add(1+tid, "other", 150e6, 1900e6, "", 0)
	}
	c.add(1, "handle", 1900e6, 2600e6, "mutex slow", 0)
	c.add(2, "handle", 1900e6, 2100e6, "mutex slow", 0)
	c.add(3, "handle", 1900e6, 1950e6, "", 0)
	c.p.TimeNanos, c.p.DurationNanos = 1e15, 2600e6
	r := staysOf(t, c, 100*time.Millisecond, Options{})
	want := []jsonStayWindow{
		{Begin: 2e9, Stays: 2, Slow: 2, SlowTime: 700e6, CauseTime: 700e6},
		{Begin: 1e9, Stays: 3, Slow: 2, SlowTime: 200e6, CauseTime: 200e6},
	}
	if len(r.Windows) != len(want) {
		t.Fatalf("%d windows, want %d", len(r.Windows), len(want))
	}
	for i, w := range r.Windows {
		if !strings.Contains(w.Cause, "handle waits for futex: mutex slow") {
			t.Errorf("window %d: cause %q", i, w.Cause)
		}
		if w.Cause, w.causes = "", nil; !reflect.DeepEqual(*w, want[i]) {
			t.Errorf("window %d: %+v, want %+v", i, *w, want[i])
		}
	}
	var text strings.Builder
	if err := Stays(&text, c.p, "handle", StayOptions{Over: 100 * time.Millisecond, Window: time.Second}, false,
		Options{}); err != nil || !strings.Contains(text.String(),
		"windows of 1.00s with most time in slow stays\n    700ms  from 2.00s: 2 of 2 stays slow; 700ms: handle waits for") {
		t.Errorf("%v\n%s", err, text.String())
	}
	if err := Stays(&text, c.p, "handle", StayOptions{Window: 1}, false, Options{}); err == nil {
		t.Error("2,600,000,000 windows are no error")
	}
}

func TestAStayEndsAtAGap(t *testing.T) {
	c := newContention()
	c.add(7, "other", 0, 100e6, "", 0)
	c.add(7, "handle", 100e6, 300e6, "", 0)
	c.add(7, "handle", 300e6, 500e6, "", 0)
	c.add(7, "handle", 600e6, 700e6, "", 0)
	c.add(7, "other", 700e6, 800e6, "", 0)
	c.add(7, "handle", 800e6, 900e6, "", 0)
	c.add(7, "[not observed]", 900e6, 950e6, "", 0)
	c.add(7, "handle", 950e6, 970e6, "", 0)
	c.add(7, "other", 970e6, 1000e6, "", 0)
	r := staysOf(t, c, 0, Options{})
	if r.Stays != 4 || r.Longest != 400e6 || r.CutOff != 4 || r.Slowest[0].High != 0 {
		t.Errorf("%+v", r)
	}
}

func TestStaysNeedTimes(t *testing.T) {
	c := newContention()
	c.add(7, "handle", 0, 100e6, "", 0)
	delete(c.p.Sample[0].NumLabel, rec.LabelEnd)
	if err := Stays(&strings.Builder{}, c.p, "handle", StayOptions{}, false, Options{}); !errors.Is(err, ErrNoTime) {
		t.Errorf("%v", err)
	}
}
