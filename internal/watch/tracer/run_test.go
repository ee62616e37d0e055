// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"context"
	"io"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"prywalk/internal/account/runstats"
	"prywalk/internal/host/procmem"
	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/bounded"
	"prywalk/internal/watch/observe"
	"prywalk/internal/watch/target"
	"prywalk/ptrace"
)

// There is no aggregator: what the tracer hands over is dropped.
func runUntil(t *testing.T, o target.SamplingOptions, pid int, enough func(*Control) bool) (s runstats.Stats) {
	t.Helper()
	control, common := NewControl(1), target.NewCommon()
	if !control.Admit(opened(t, pid)) {
		t.Fatal("the process is not admitted")
	}
	tracer := New(o, control, common, ptrace.Now(), procmem.BootTicks())
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go tracer.Run(ctx, cancel)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for b := range common.Queue.Batches() {
			for i := range b {
				if raw := b[i].RawSample; raw != nil {
					common.Pool.Put(raw)
				}
			}
			common.Queue.Put(b)
		}
	}()
	testtargets.Eventually(t, "enough", func() bool { return ctx.Err() != nil || enough(control) })
	cancel()
	select {
	case <-ended:
	case <-time.After(testtargets.Patience):
		t.Fatal("the run does not end")
	}
	if err := common.Failure.Get(); err != nil {
		t.Error(err)
	}
	tracer.Stats(&s)
	return s
}

func stopsOf(n int64) func(*Control) bool {
	return func(c *Control) bool { return c.Progress().Stops >= n }
}

func ticksOf(n int64) func(*Control) bool {
	return func(c *Control) bool { return c.Progress().Ticks >= n }
}

// endless is a standard input that does not end before the test.
func endless(t *testing.T) io.Reader {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close(); _ = w.Close() })
	return r
}

func TestSubsetOfAllIsAll(t *testing.T) {
	pid, _ := testtargets.Threads(t, "burners", "2")
	s := runUntil(t, target.SamplingOptions{Freq: 199, Subset: 100}, pid, stopsOf(40))
	if s.NotDrawn != 0 {
		t.Errorf("%d not drawn", s.NotDrawn)
	}
}

func TestStopLimitBelowAnyStopStopsNothing(t *testing.T) {
	pid, _ := testtargets.Threads(t, "mixed", "5")
	awaitSleep(t, pid, 1)
	s := runUntil(t, target.SamplingOptions{MaxPause: 1, Freq: 999}, pid, ticksOf(500))
	if s.Stops != 0 || s.Failed["max-pause"] == 0 || s.PassiveReads < 5 || s.Unchanged == 0 {
		t.Errorf("%d stopped, %d read passively, %d unchanged, %v", s.Stops, s.PassiveReads, s.Unchanged, s.Failed)
	}
}

func TestStopLimitAboveAnyStopKeepsNone(t *testing.T) {
	pid, _ := testtargets.Threads(t, "mixed", "5")
	s := runUntil(t, target.SamplingOptions{MaxPause: time.Minute, Freq: 199}, pid, stopsOf(40))
	if s.Failed["max-pause"] != 0 {
		t.Errorf("failed: %v", s.Failed)
	}
}

// Linux does not restart epoll_wait by itself.
func TestReadOnlyRestartsNothing(t *testing.T) {
	exe, err := testtargets.Compile("sleepers.c", "-O1")
	if err != nil {
		t.Fatal(err)
	}
	for _, readOnly := range []bool{false, true} {
		cmd := exec.Command(exe, "epoll", "plain")
		cmd.Stdin = endless(t)
		testtargets.Ready(t, cmd)
		awaitSleep(t, cmd.Process.Pid, 0)
		o := target.SamplingOptions{Mode: observe.ModeAlwaysStop, ReadOnly: readOnly, Freq: 199}
		s := runUntil(t, o, cmd.Process.Pid, ticksOf(100))
		if (s.Restarted > 0) == readOnly {
			t.Errorf("read-only %v: %d calls restarted", readOnly, s.Restarted)
		}
	}
}

// Each stop is charged with [StopCost] at least. The last tick, of two threads, may exceed the limit.
func TestMaxOverheadLimitsStops(t *testing.T) {
	pid, _ := testtargets.Threads(t, "mixed", "1")
	begun := time.Now()
	const limit = 0.0001
	s := runUntil(t, target.SamplingOptions{Freq: 999, MaxOverhead: limit}, pid, func(*Control) bool {
		return time.Since(begun) > 1500*time.Millisecond
	})
	permitted := FreeLoss + limit*2*float64(time.Since(begun))
	if charged := float64(s.Stops-2) * StopCost; charged > permitted {
		t.Errorf("%d stops take %.0f ns at least, of %.0f permitted", s.Stops, charged, permitted)
	}
}

// lateContext is not expired by the Go runtime, as on a host without a CPU to spare.
type lateContext struct {
	context.Context
	deadline time.Time
}

func (c lateContext) Deadline() (time.Time, bool) { return c.deadline, true }

func TestRunEndsAtTheDeadlineThoughTheRuntimeIsLate(t *testing.T) {
	pid, _ := testtargets.Threads(t, "burners", "1")
	control, common := NewControl(1), target.NewCommon()
	if !control.Admit(opened(t, pid)) {
		t.Fatal("the process is not admitted")
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	tracer := New(target.SamplingOptions{Freq: 10}, control, common, ptrace.Now(), procmem.BootTicks())
	go tracer.Run(lateContext{ctx, time.Now()}, cancel)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for b := range common.Queue.Batches() {
			common.Queue.Put(b)
		}
	}()
	select {
	case <-ended:
	case <-time.After(testtargets.Patience):
		t.Error("the run goes on after its deadline")
		cancel()
		bounded.Receive(t, "the cancelled run ends", ended)
	}
}

// awaitSleep waits until all threads sleep, but so many.
func awaitSleep(t *testing.T, pid, but int) {
	t.Helper()
	tids, err := procmem.ListTasks(pid, nil)
	if err != nil {
		t.Fatal(err)
	}
	testtargets.Eventually(t, "all threads sleep, but "+strconv.Itoa(but), func() bool {
		slept := 0
		for _, tid := range tids {
			var s procmem.Stat
			f := procmem.OpenThread(pid, tid, nil)
			err := f.Stat(&s)
			f.Close()
			if err != nil {
				t.Fatal(err)
			}
			if s.State == 'S' {
				slept++
			}
		}
		return slept == len(tids)-but
	})
}
