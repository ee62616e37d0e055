// SPDX-License-Identifier: Apache-2.0

package procmem

import (
	"os"
	"os/exec"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

func TestParseLastRun(t *testing.T) {
	const head = "se.exec_start (18755, #threads: 1)\n------\nse.exec_start                                :       "
	for text, want := range map[string]int64{
		head + "5277785.855588\nse.vruntime : 1.0\n": 5277785855588,
		head + "0.000001\n":                          1,
		head + "5277785.855588":                      -1,
		head + "5277785.8555\n":                      -1,
		head + "5277785855588\n":                     -1,
		head + "-1.000000\n":                         -1,
		"":                                           -1,
		"se.exec_start":                              -1,
		head + "99999999999999999999999.000000\n":    -1,
	} {
		got, ok := parseLastRun([]byte(text))
		if ok != (want >= 0) || ok && got != want {
			t.Errorf("parseLastRun(%q) = %d, %v; want %d", text, got, ok, want)
		}
	}
}

func FuzzParseLastRun(f *testing.F) {
	f.Add([]byte("\nse.exec_start : 1.000000\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if v, ok := parseLastRun(b); ok && v < 0 {
			t.Fatalf("a negative time: %d", v)
		}
	})
}

func TestParseSwitches(t *testing.T) {
	const head = "\nnr_switches:7 (18755, #threads: 1)\n------\nse.exec_start : 5277785.855588\nnr_switches      :    "
	for text, want := range map[string]int64{
		head + "1234\nnr_voluntary_switches  : 1\n": 1234,
		head + "0\n":                    0,
		head + "12":                     -1,
		head + "\n":                     -1,
		head + "-1\n":                   -1,
		head + "1.5\n":                  -1,
		head + "99999999999999999999\n": -1,
		"":                              -1,
		"nr_switches : 1\n":             -1,
	} {
		got, ok := parseSwitches([]byte(text))
		if ok != (want >= 0) || ok && int64(got) != want {
			t.Errorf("parseSwitches(%q) = %d, %v; want %d", text, got, ok, want)
		}
	}
}

func FuzzParseSwitches(f *testing.F) {
	f.Add([]byte("\nnr_switches : 1\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if v, ok := parseSwitches(b); ok && int64(v) < 0 {
			t.Fatalf("a negative count: %d", v)
		}
	})
}

func TestUncountedArrivalsAreDetected(t *testing.T) {
	var of arrivals
	for i, c := range []struct {
		runs, left, cpu uint64
		want            bool
		what            string
	}{
		{5, 4, 10, true, "runs"},
		{5, 5, 11, false, "queued"},
		{6, 5, 11, true, "runs again"},
		{6, 7, 15, false, "left, arrived without being counted, and left"},
		{7, 7, 15, true, "runs; one uncounted arrival is known"},
		{7, 8, 20, false, "queued"},
		{7, 8, 20, false, "still queued"},
		{8, 9, 22, false, "runs; a second uncounted arrival is not known yet"},
		{8, 9, 26, true, "has run, and has not left"},
		{8, 9, 26, true, "its clock has not moved since"},
		{8, 10, 27, false, "queued"},
	} {
		if got := of.onCPU(SchedStat{Runs: c.runs, CPU: c.cpu}, c.left); got != c.want {
			t.Errorf("step %d (%s): on a processor %v, want %v", i, c.what, got, c.want)
		}
	}
}

func TestOnProcessorIsTrueForRunningThreads(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if _, err := os.Stat("/proc/self/sched"); err != nil {
		t.Skip("needs /proc/PID/sched: Linux 6.15, or CONFIG_SCHED_DEBUG")
	}
	own := OpenThread(os.Getpid(), unix.Gettid(), NewFDBudget(0))
	defer own.Close()
	cmd := exec.Command("sleep", "1000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	asleep := OpenThread(cmd.Process.Pid, cmd.Process.Pid, NewFDBudget(0))
	defer asleep.Close()
	for call, err := asleep.Syscall(); err == nil && call.Nr != unix.SYS_CLOCK_NANOSLEEP; call, err = asleep.Syscall() {
		runtime.Gosched()
	}
	ran := 0
	for range 1000 {
		on, known := own.OnCPU()
		if !known {
			t.Fatal("it is not known whether this thread is on a processor")
		}
		if on {
			ran++
		}
		if on, known := asleep.OnCPU(); on || !known {
			t.Fatalf("a sleeping thread: on a processor %v, known %v; want false, true", on, known)
		}
	}
	if ran == 0 {
		t.Error("this thread is never found on a processor")
	}
}

func TestLastRunIsReadOnThisKernel(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if _, err := os.Stat("/proc/self/sched"); err != nil {
		t.Skip("needs /proc/PID/sched: Linux 6.15, or CONFIG_SCHED_DEBUG")
	}
	f := OpenThread(os.Getpid(), unix.Gettid(), NewFDBudget(0))
	defer f.Close()
	first, ok := f.LastRun()
	if !ok || first <= 0 {
		t.Fatalf("last run %d, %v; want a time", first, ok)
	}
	for range 1_000_000 {
		if now, _ := f.LastRun(); now > first {
			return
		}
	}
	t.Fatal("the time of the last run does not change")
}
