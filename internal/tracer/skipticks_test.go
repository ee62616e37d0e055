// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"testing"
	"time"

	"prywalk/internal/procmem"
	"prywalk/internal/schedule"
	"prywalk/internal/testtargets"
)

func TestTicksAreSkippedWhereAllIsSteady(t *testing.T) {
	toy := newToyRunning()
	toy.complete = true
	onTicksOf(t, Options{Freq: 1000, Engine: toy}, func(tick func(), c *Tracer) {
		leftOut := func(now int64) bool { return c.skipTicks(now, now) != now }
		begun := procmem.Now()
		tick()
		if leftOut(begun) {
			t.Fatal("it is not known yet whether they sleep on")
		}
		for end := time.Now().Add(time.Minute); !leftOut(procmem.Now()); time.Sleep(10 * time.Millisecond) {
			if tick(); time.Now().After(end) {
				t.Fatal("in vain: all sleep, and the engine would observe them")
			}
		}
		time.Sleep(20 * time.Millisecond)
		before, rested := c.Tick.Number, c.Skipper.Skipped
		tick()
		n := c.Skipper.Skipped - rested
		if n < 1 || c.Tick.Number-before != n+1 || !c.Tick.Skipped {
			t.Errorf("%d skipped, %d ticks", n, c.Tick.Number-before)
		}
		for _, p := range c.tracked.procs {
			if p.Handover.CodeFreed(procmem.Now()); !c.maySkip(procmem.Now()) {
				t.Error("a function was freed, and no tick is skipped")
			}
		}
		for name, unsteady := range map[string]func(){
			"a thread was created":             func() { c.Skipper.NoteThreadChange(procmem.Now()) },
			"threads of a process are stopped": func() { toy.complete = false },
			"it is the end":                    func() { c.Ending = true },
		} {
			was, rest := c.opts, c.Skipper
			steady := func() bool { return c.maySkip(procmem.Now()) && c.isSteady(procmem.Now()) }
			if !steady() {
				t.Fatalf("not steady before %s", name)
			}
			unsteady()
			if steady() {
				t.Errorf("%s, and ticks are skipped", name)
			}
			c.opts, c.Skipper, toy.complete, c.Ending = was, rest, true, false
		}
	}, "sleepers", "3")
}

// awaitSleep waits until all threads sleep, but so many.
func awaitSleep(t *testing.T, pid, but int) {
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
		if slept == len(tids)-but {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%d of %d threads sleep", slept, len(tids))
		}
	}
	t.Fatal(err)
}

// It is not known whether threads sleep on. After a thread creation no tick is skipped.
func TestTicksThatCostMoreThanTheyShowAreSkipped(t *testing.T) {
	toy := newToyRunning()
	toy.complete = true
	onTicksOf(t, Options{Freq: 1000, Engine: toy}, func(tick func(), c *Tracer) {
		for _, p := range c.tracked.procs {
			awaitSleep(t, p.Target.PID, 0)
		}
		tick()
		now := procmem.Now()
		leftOut := func() bool { return c.skipTicks(now, now) != now }
		if c.Skipper = (schedule.TickSkipper{}); c.isSteady(now) || leftOut() {
			t.Fatal("one tick, and it is known what they do and cost")
		}
		for i := range int64(1000) {
			c.Skipper.SetCPUTime(1 + i*1e6)
		}
		if !leftOut() {
			t.Fatal("a tick takes a millisecond, and none is skipped")
		}
		for _, p := range c.tracked.procs {
			for _, th := range p.list.inOrder {
				if !th.Backoff.BackedOff() {
					t.Errorf("thread %d sleeps, and what it does at those ticks is not counted", th.Observed.TID)
				}
			}
		}
		if c.Skipper.NoteThreadChange(now); leftOut() {
			t.Error("a thread was created, and ticks are skipped")
		}
	}, "sleepers", "3")
}
