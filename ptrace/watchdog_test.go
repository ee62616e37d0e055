// SPDX-License-Identifier: Apache-2.0

package ptrace

import (
	"fmt"
	"os"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"prywalk/internal/host/procmem"
	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/bounded"
)

// The clocks of a stopped thread stand still, once it has left its CPU: proc_pid_syscall(5) has "running" until then.
func TestWatchdogLowersAThreadThatRanForItsTimeWithoutASleep(t *testing.T) {
	p := start(t, "sleep")
	p.Signal(unix.SIGSTOP)
	eventually(t, "stopped", func() bool {
		call, err := os.ReadFile(fmt.Sprintf("/proc/%d/syscall", p.PID))
		return state(p.PID) == 'T' && err == nil && string(call) != "running\n"
	})
	batch, err := unix.SchedGetAttr(p.PID, 0) // a lower nice value may be refused
	if err != nil {
		t.Fatal(err)
	}
	testtargets.Need(t, batch.Policy == unix.SCHED_NORMAL, "the ordinary scheduling policy", "chrt --other 0 make test")
	batch.Policy = unix.SCHED_BATCH
	w := newWatchdog(p.PID, 1, batch)
	defer w.files.Close()
	w.files = procmem.OpenThread(p.PID, p.PID, procmem.NewFDBudget(0))
	sched, err := w.files.SchedStat()
	if err != nil {
		t.Fatal(err)
	}
	var s procmem.Status
	if err := w.files.Status(&s); err != nil || s.Sleeps == 0 {
		t.Fatalf("%v, %d sleeps", err, s.Sleeps)
	}
	const now = 5e9
	for _, c := range []struct {
		what          string
		ran           time.Duration // since the last known sleep
		slept         uint64
		lowered       Moment
		wantSleepAt   time.Duration // how long before its stop the last known sleep is
		wantSleeps    uint64
		wantLowered   Moment
		wantPolicy    uint32
		wantLowerings int64
	}{
		{"it slept, and is not suspect", suspectAfter - 1, 1, 0, suspectAfter - 1, s.Sleeps - 1, 0, unix.SCHED_NORMAL, 0},
		{"it slept", suspectAfter, 1, 0, 0, s.Sleeps, 0, unix.SCHED_NORMAL, 0},
		{"it slept after a long time", 10 * maxRunWithoutSleep, 1, 0, 0, s.Sleeps, 0, unix.SCHED_NORMAL, 0},
		{"its time is not over", maxRunWithoutSleep - 1, 0, 0, maxRunWithoutSleep - 1, s.Sleeps, 0, unix.SCHED_NORMAL, 0},
		{"it is ordinary already", maxRunWithoutSleep, 0, 7, maxRunWithoutSleep, s.Sleeps, 7, unix.SCHED_NORMAL, 0},
		{"its time is over", maxRunWithoutSleep, 0, 0, maxRunWithoutSleep, s.Sleeps, now, unix.SCHED_BATCH, 1},
	} {
		w.cpu, w.sleeps = time.Duration(sched.CPU)-c.ran, s.Sleeps-c.slept
		w.lowered.Store(int64(c.lowered))
		w.check(now)
		if time.Duration(sched.CPU)-w.cpu != c.wantSleepAt || w.sleeps != c.wantSleeps {
			t.Errorf("%s: last sleep %d ns before the stop, sleep %d; want %d, %d", c.what,
				time.Duration(sched.CPU)-w.cpu, w.sleeps,
				c.wantSleepAt, c.wantSleeps)
		}
		if Moment(w.lowered.Load()) != c.wantLowered || w.count.Load() != c.wantLowerings ||
			w.hasLowered() != (c.wantLowered != 0) {
			t.Errorf("%s: lowered at %d, %d times; want %d, %d", c.what, w.lowered.Load(), w.count.Load(), c.wantLowered,
				c.wantLowerings)
		}
		if got := policy(t, p.PID); got != c.wantPolicy {
			t.Errorf("%s: policy %d, want %d", c.what, got, c.wantPolicy)
		}
	}
}

func TestTracerThatDoesNotSleepLosesItsRealTimePriority(t *testing.T) {
	// The Go scheduler would let the watchdog run in place of the tracer, which sleeps in the meantime.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + 1))
	err := Run(Options{NoGC: true}, func(c *Controller) error {
		if c.Scheduling() != "fifo" {
			t.Skip("needs a real-time priority: sudo make test")
		}
		w := c.Sleeper.watchdog
		for end := soon(); !w.hasLowered(); {
			if Now() > end {
				t.Fatalf("not within %v: a thread that does not sleep loses its priority", patience)
			}
		}
		// Without the watchdog the rest does not depend on how much CPU time the test uses.
		w.close()
		bounded.Receive(t, "the watchdog's end", w.done)
		if p := policy(t, 0); p != unix.SCHED_NORMAL || c.Stats().Lowered != 1 {
			t.Errorf("policy %d, lowered %d times; want %d, once", p, c.Stats().Lowered, unix.SCHED_NORMAL)
		}
		lowered := Moment(w.lowered.Load())
		w.raiseAgain(lowered.Add(minOrdinaryTime - 1))
		if p := policy(t, 0); p != unix.SCHED_NORMAL || Moment(w.lowered.Load()) != lowered {
			t.Errorf("policy %d at once after it was lowered, want %d", p, unix.SCHED_NORMAL)
		}
		w.lowered.Store(int64(Now().Add(-minOrdinaryTime)))
		c.Sleeper.SleepUntil(Now().Add(1e6))
		if p := policy(t, 0); p != unix.SCHED_FIFO || w.hasLowered() {
			t.Errorf("policy %d after a later sleep, want %d", p, unix.SCHED_FIFO)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func policy(t *testing.T, tid int) uint32 {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	a, err := unix.SchedGetAttr(tid, 0)
	if err != nil {
		t.Fatal(err)
	}
	return a.Policy
}
