// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"testing"
	"time"

	"prywalk/internal/handover"
	"prywalk/internal/perfevents"
	"prywalk/internal/procmem"
	"prywalk/internal/schedule"
	"prywalk/internal/testtargets"
)

// TestCopiesAreAsLongAsWalksNeed: of goroutines, whose stacks nothing ends. Each time that one is cut it takes twice as
// long until copies are shorter again.
func TestCopiesAreAsLongAsWalksNeed(t *testing.T) {
	const short = 14 << 10
	fit := func(n int) int {
		if n <= short {
			return short
		}
		return 0
	}
	heap := &perfevents.Record{Stack: make([]byte, 64), Asked: 64}
	ended := &perfevents.Record{Stack: make([]byte, 32), Asked: 64}
	for _, c := range []struct {
		name    string
		samples int
		rec     *perfevents.Record
		deepest int64
		want    int
	}{
		{"goroutines", 300, heap, 5 << 10, short},
		{"goroutines, too few samples", 200, heap, 5 << 10, 0},
		{"goroutines, deep", 300, heap, 9 << 10, 0},
		{"goroutines, deeper than is copied", 300, heap, handover.CutStack, 0},
		{"stacks that end", 300, ended, 5 << 10, 0},
		{"nothing was walked yet", 300, heap, 0, 0},
	} {
		var l sampleLength
		now := int64(1e9)
		if got := l.decide(now, 0, fit); got != 0 {
			t.Errorf("%s: %d at first", c.name, got)
		}
		for range c.samples {
			l.sampled(c.rec)
		}
		l.deepest = c.deepest
		if got := l.decide(now+fitAfter/2, 0, fit); got != 0 {
			t.Errorf("%s: %d too early", c.name, got)
		}
		if got := l.decide(now+fitAfter, 0, fit); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
	var l sampleLength
	now := int64(1e9)
	l.decide(now, 0, fit)
	for after := int64(fitAfter); after < 8*mostFitAfter; after *= 2 {
		for range fitSamples {
			l.sampled(heap)
		}
		l.deepest = 100
		wait := min(after, mostFitAfter)
		if got := l.decide(now+wait-1, 0, fit); got != 0 {
			t.Fatalf("shorter after less than %d ns", wait)
		}
		if now += wait; l.decide(now, 0, fit) != short {
			t.Fatalf("not shorter after %d ns", wait)
		}
		if l.deepest = short * 3 / 4; l.decide(now, short, fit) != short {
			t.Fatal("longer for nothing")
		}
		if l.deepest = short; l.decide(now, short, fit) != 0 {
			t.Fatal("not longer, though a walk needed all")
		}
	}
}

// TestTicksAreLeftOutWhereAllIsSteady: of sleepers that the kernel would sample.
func TestTicksAreLeftOutWhereAllIsSteady(t *testing.T) {
	onTicksOf(t, sampling(t, 1000), func(tick func(), c *Tracer) {
		leftOut := func() bool {
			now := procmem.Now()
			return c.restIfSteady(now, now) != now
		}
		tick()
		if leftOut() {
			t.Fatal("nobody knows yet whether they sleep on")
		}
		for end := time.Now().Add(time.Minute); !leftOut(); time.Sleep(10 * time.Millisecond) {
			if tick(); time.Now().After(end) {
				t.Fatal("in vain: all sleep, and the kernel would sample them")
			}
		}
		time.Sleep(20 * time.Millisecond)
		before, rested := c.counts, c.rest.Ticks
		tick()
		n := c.rest.Ticks - rested
		if n < 1 || c.counts.ticks-before.ticks != n+1 || !c.now.rested {
			t.Errorf("%d left out, %d ticks", n, c.counts.ticks-before.ticks)
		}
		for name, unsteady := range map[string]func(){
			"a thread was born":         func() { c.rest.Changed(procmem.Now()) },
			"a process is ptrace's":     func() { c.stopSampling(c.procs[0]) },
			"it is the end":             func() { c.ending = true },
			"samples are not taken now": func() { c.samples.paused = true },
		} {
			was, rest, paused := c.opts, c.rest, c.samples.paused
			steady := func() bool { return c.mayRest(procmem.Now()) && c.steady(procmem.Now()) }
			if !steady() {
				t.Fatalf("not steady before %s", name)
			}
			unsteady()
			if steady() {
				t.Errorf("%s, and ticks are left out", name)
			}
			c.opts, c.rest, c.samples.paused, c.ending = was, rest, paused, false
			c.choose()
		}
	}, "sleepers", "3")
}

// awaitSleep waits until all threads of a process sleep: one that has just written its line may still run.
func awaitSleep(t *testing.T, pid int) {
	t.Helper()
	tids, err := procmem.ListTasks(pid, nil)
	for end := time.Now().Add(testtargets.Patience); err == nil; time.Sleep(time.Millisecond) {
		slept := 0
		for _, tid := range tids {
			var s procmem.Stat
			f := procmem.OpenThread(pid, tid, nil)
			if err = f.Stat(&s); err == nil && s.State == 'S' {
				slept++
			}
			f.Close()
		}
		if slept == len(tids) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%d of %d threads sleep", slept, len(tids))
		}
	}
	t.Fatal(err)
}

// TestTicksThatCostMoreThanTheyTellAreLeftOut: though it is not known whether threads sleep on. Where one was born,
// each comes.
func TestTicksThatCostMoreThanTheyTellAreLeftOut(t *testing.T) {
	onTicksOf(t, sampling(t, 1000), func(tick func(), c *Tracer) {
		for _, p := range c.procs {
			awaitSleep(t, p.target.PID)
		}
		tick()
		now := procmem.Now()
		leftOut := func() bool { return c.restIfSteady(now, now) != now }
		if c.rest = (schedule.Rest{}); c.steady(now) || leftOut() {
			t.Fatal("one tick, and it is known what they do and cost")
		}
		for i := range int64(1000) {
			c.rest.Used(1 + i*1e6)
		}
		if !leftOut() {
			t.Fatal("a tick takes a millisecond, and none is left out")
		}
		for _, p := range c.procs {
			for _, th := range p.list.inOrder {
				if !th.idle.LeftAlone() {
					t.Errorf("thread %d sleeps, and what it does at those ticks is not counted", th.look.TID)
				}
			}
		}
		if c.rest.Changed(now); leftOut() {
			t.Error("a thread was born, and ticks are left out")
		}
	}, "sleepers", "3")
}
