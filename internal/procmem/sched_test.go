package procmem

import (
	"os"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

func TestParseLastRun(t *testing.T) {
	const head = "head (18755, #threads: 1)\n------\nse.exec_start                                :       "
	for text, want := range map[string]int64{
		head + "5277785.855588\nse.vruntime : 1.0\n": 5277785855588,
		head + "0.000001\n":                          1,
		head + "5277785.855588":                      -1, // cut
		head + "5277785.8555\n":                      -1,
		head + "5277785855588\n":                     -1,
		head + "-1.000000\n":                         -1,
		"":                                           -1,
		"se.exec_start":                              -1,
		head + "99999999999999999999999.000000\n":    -1,
	} {
		got, ok := ParseLastRun([]byte(text))
		if ok != (want >= 0) || ok && got != want {
			t.Errorf("ParseLastRun(%q) = %d, %v", text, got, ok)
		}
	}
}

func FuzzParseLastRun(f *testing.F) {
	f.Add([]byte("se.exec_start : 1.000000\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if v, ok := ParseLastRun(b); ok && v < 0 {
			t.Fatalf("%d", v)
		}
	})
}

// TestLastRunIsReadOnThisKernel: the value of a thread that runs grows.
func TestLastRunIsReadOnThisKernel(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if _, err := os.Stat("/proc/self/sched"); err != nil {
		t.Skip("the kernel has no /proc/PID/sched (before 6.15 without CONFIG_SCHED_DEBUG)")
	}
	f := OpenThread(os.Getpid(), unix.Gettid(), NewBudget(0))
	defer f.Close()
	first, ok := f.LastRun()
	if !ok || first <= 0 {
		t.Fatalf("%d, %v", first, ok)
	}
	for range 1_000_000 {
		if now, _ := f.LastRun(); now > first {
			return
		}
	}
	t.Fatal("it stands still")
}
