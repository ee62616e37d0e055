// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"prywalk/internal/host/procmem"
	"prywalk/internal/host/selfruntime"
	"prywalk/internal/testtargets/bounded"
	"prywalk/internal/watch/observe"
	"prywalk/ptrace"
)

func TestNothingThatATickCallsGivesWay(t *testing.T) {
	var small [64]byte
	pool := observe.NewPool(naps)
	for range naps {
		pool.Put(new(observe.RawSample))
	}
	for name, call := range map[string]func(){
		"the thread's own clock":    func() { _ = selfruntime.CPUTime() },
		"a shot of the pool":        func() { _ = pool.Get() },
		"how long it was suspended": func() { _ = procmem.Suspended() },
		"a file of the kernel's":    func() { _, _ = procmem.ReadSmall("/sys/devices/system/cpu/online", small[:]) },
	} {
		t.Run(name, func(t *testing.T) {
			if n := givesWay(t, call); n > naps/2 {
				t.Errorf("the goroutine gave way %d times in %d", n, naps)
			}
		})
	}
	t.Run("a call that tells the scheduler does", func(t *testing.T) {
		var ts unix.Timespec
		if n := givesWay(t, func() { _ = unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts) }); n <= naps/2 {
			t.Errorf("the goroutine gave way %d times in %d: the test would not notice a call that does", n, naps)
		}
	})
}

// A call that acts on requests does so after each sleep; one in hundreds differs.
const naps = 10

func givesWay(t *testing.T, call func()) (n int) {
	t.Helper()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	var turns atomic.Int64
	var over atomic.Bool
	defer over.Store(true)
	go func() {
		for !over.Load() {
			turns.Add(1)
		}
	}()
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		for range naps {
			if !awaitRequest() {
				t.Errorf("the Go runtime requested no preemption in %v", longSleep)
				return
			}
			before := turns.Load()
			call()
			notice()
			if turns.Load() != before {
				n++
			}
		}
	}()
	bounded.Receive(t, "the turns are counted", done)
	return n
}

const longSleep = time.Minute

// The signal is SIGURG (runtime/proc.go, preemptone).
func awaitRequest() bool {
	end := int64(ptrace.Now().Add(longSleep))
	ptrace.Pin()
	procmem.SleepUntil(end)
	ptrace.Unpin()
	return ptrace.Now() < ptrace.Moment(end)
}

//go:noinline
func notice() {
	var room [128]byte
	fill(room[:])
}

//go:noinline
func fill(b []byte) { b[0]++ }
