// SPDX-License-Identifier: Apache-2.0

package perfevents

import (
	"errors"
	"math"
	"os/exec"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

func openPerThread(t *testing.T, o ReaderOptions) *Reader {
	t.Helper()
	if err := TryPerThread(); err != nil {
		t.Skipf("needs perf events of own processes: kernel.perf_event_paranoid 2 or less (%v)", err)
	}
	r, err := OpenPerThread(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

// The loops take some 100 ms, the longest period is 2.5 ms.
func TestACommandAndItsChildrenAreSampledInUserSpace(t *testing.T) {
	r := openPerThread(t, ReaderOptions{Freq: 99, Programs: true})
	runtime.LockOSThread() // the thread that forks
	defer runtime.UnlockOSThread()
	if !r.SampleCommand(unix.Gettid()) || r.PerThread() || !r.UserOnly() || r.ThreadFiles() != 0 {
		t.Fatal("the kernel refuses a command's samples, but gives a thread's")
	}
	r.Resume()
	const loop = `i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done`
	shell := exec.Command("sh", "-c", "("+loop+"); "+loop)
	samples, parents := map[int]int{}, map[int]int{}
	read := func(rec *Record) {
		switch {
		case rec.Kind == Forked:
			parents[rec.PID] = rec.PPID
		case rec.Kind != Sampled:
		default:
			samples[rec.PID]++
			if rec.Kernel() != 0 || rec.Period < r.command.period/2 || rec.Period > 2*r.command.period {
				t.Errorf("%d kernel frames, period %d ns; want none, and half to double of %d", rec.Kernel(), rec.Period,
					r.command.period)
			}
			if got := r.PeriodOf(rec); got != rec.Period {
				t.Errorf("a sample stands for %d ns, want %d", got, rec.Period)
			}
		}
	}
	if err := shell.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- shell.Wait() }()
	for over := false; !over; { // reads before the ring is full
		select {
		case err := <-done:
			if over = true; err != nil {
				t.Fatal(err)
			}
		default:
		}
		r.Drain(read)
		r.VaryPeriods(0)
	}
	pid := shell.Process.Pid
	if samples[pid] == 0 {
		t.Errorf("no sample of the command: %v; %d lost", samples, r.Lost())
	}
	sampledChild := false
	for child, parent := range parents {
		sampledChild = sampledChild || parent == pid && samples[child] > 0
	}
	if !sampledChild {
		t.Errorf("no sample of the child of %d: samples %v, parents %v; %d lost", pid, samples, parents, r.Lost())
	}
}

func TestACommandsRateAndCPUsDoNotChange(t *testing.T) {
	r := openPerThread(t, ReaderOptions{Freq: 99})
	if !r.SampleCommand(unix.Gettid()) {
		t.Fatal("refused")
	}
	if r.SetFreq(10) || r.Freq() != 99 {
		t.Errorf("the rate changed to %v: existing threads keep theirs", r.Freq())
	}
	r.listCPUs = func() (string, error) { return "0-1023", nil }
	if r.ReopenIfCPUsChanged() {
		t.Error("new CPUs are sampled: existing threads have no events there")
	}
}

func TestThreadsAreSampledWhereACommandIsNot(t *testing.T) {
	self := unix.Gettid()
	for name, c := range map[string]struct {
		freq   float64
		parent int
	}{"too high a rate": {maxCommandFreq + 1, self}, "no such thread": {99, math.MaxInt32}} {
		r := openPerThread(t, ReaderOptions{Freq: c.freq})
		if r.SampleCommand(c.parent) || !r.PerThread() {
			t.Errorf("%s: accepted", name)
		}
		if err := r.OpenThread(self); err != nil || r.ThreadFiles() == 0 {
			t.Errorf("%s: %v, %d descriptors for a thread", name, err, r.ThreadFiles())
		}
	}
	r := openPerThread(t, ReaderOptions{Freq: 99})
	r.Close()
	if err := r.OpenThread(self); !errors.Is(err, errNoRoom) {
		t.Errorf("without rings: %v, want %v", err, errNoRoom)
	}
}

func TestPeriodsOfACommandAreHalfToDoubleOfTheMean(t *testing.T) {
	c := command{period: 1000}
	low, high := uint64(math.MaxUint64), uint64(0)
	for range 10000 {
		p := c.drawnPeriod()
		low, high = min(low, p), max(high, p)
	}
	if low < 500 || high > 2000 || low == high {
		t.Errorf("periods of %d to %d ns, want 500 to 2000", low, high)
	}
}
