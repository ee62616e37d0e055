// SPDX-License-Identifier: Apache-2.0

package ptrace

import (
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"prywalk/internal/host/procmem"
)

func TestTracerThatDoesNotSleepLosesItsRealTimePriority(t *testing.T) {
	err := Run(Options{NoGC: true}, func(c *Controller) error {
		if c.Scheduling() != "fifo" {
			t.Skip("needs a real-time priority: sudo make test")
		}
		w := c.watchdog
		lowered := uint64(0) // runs in which the (emulated) machine stood still: that counts as CPU time
		for short, rounds := 0, 0; short < 10; rounds++ {
			if rounds == 1000 {
				t.Fatalf("%d of %d runs took less than %v", short, rounds, time.Duration(maxRunWithoutSleep))
			}
			begun := procmem.Now()
			runFor(10e6, nil)
			c.SleepUntil(procmem.Now() + 1e6)
			took := procmem.Now() - begun // it may also stand still before the sleep
			switch n := c.Stats().Lowered; {
			case took >= maxRunWithoutSleep:
				lowered = n
				w.lowered.Store(0)
			case n != lowered:
				t.Fatalf("the priority of a thread that sleeps was lowered %d times", n-lowered)
			default:
				short++
			}
		}
		if !runFor(10e9, func() bool { return w.lowered.Load() != 0 }) {
			t.Fatal("a thread that ran for 10 s without a sleep kept its priority")
		}
		if p := policy(t); p != unix.SCHED_NORMAL || c.Stats().Lowered != lowered+1 {
			t.Errorf("policy %d, lowered %d times; want %d, once", p, c.Stats().Lowered-lowered, unix.SCHED_NORMAL)
		}
		c.SleepUntil(procmem.Now() + 1e6)
		if p := policy(t); p != unix.SCHED_NORMAL {
			t.Errorf("policy %d at once after it was lowered, want %d", p, unix.SCHED_NORMAL)
		}
		w.lowered.Store(procmem.Now() - minOrdinaryTime)
		c.SleepUntil(procmem.Now() + 1e6)
		if p := policy(t); p != unix.SCHED_FIFO || w.lowered.Load() != 0 {
			t.Errorf("policy %d after a later sleep, want %d", p, unix.SCHED_FIFO)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func runFor(ns int64, so func() bool) bool {
	for end := procmem.Now() + ns; procmem.Now() < end; {
		if so != nil && so() {
			return true
		}
	}
	return false
}

func policy(t *testing.T) uint32 {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	a, err := unix.SchedGetAttr(0, 0)
	if err != nil {
		t.Fatal(err)
	}
	return a.Policy
}
