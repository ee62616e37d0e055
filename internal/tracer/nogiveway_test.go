// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"prywalk/internal/look"
	"prywalk/internal/ownruntime"
	"prywalk/internal/procmem"
	"prywalk/ptrace"
)

// What a tick calls must not bring up the requests to make room that came in the sleep before. The Go runtime asks who
// has kept its processor for 10 ms, as the sleeping tracer does. Whoever gives way waits for an ordinary thread, which
// takes half a second on a busy machine. Each call here follows a sleep that is long enough to be asked.
func TestNothingThatATickCallsGivesWay(t *testing.T) {
	var small [64]byte
	pool := look.NewPool(naps)
	for range naps {
		pool.Put(new(look.Shot))
	}
	for name, call := range map[string]func(){
		"the thread's own clock":    func() { _ = ownruntime.CPUTime() },
		"a shot of the pool":        func() { _ = pool.Get() },
		"how long it was suspended": func() { _ = procmem.Suspended() },
		"a file of the kernel's":    func() { _, _ = procmem.ReadSmall("/sys/devices/system/cpu/online", small[:]) },
	} {
		t.Run(name, func(t *testing.T) {
			if n := waysGiven(t, call); n != 0 {
				t.Errorf("the thread gave way %d times in %d", n, naps)
			}
		})
	}
	t.Run("a call that tells the scheduler does", func(t *testing.T) {
		var ts unix.Timespec
		if n := waysGiven(t, func() { _ = unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts) }); n == 0 {
			t.Error("no request to make room came: the test has shown nothing")
		}
	})
}

const naps = 10

// waysGiven counts how often this thread waited for another one in a call, each after a sleep like the tracer's.
func waysGiven(t *testing.T, call func()) (n int) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		for range naps {
			ptrace.Pin()
			for end := procmem.Now() + int64(60*time.Millisecond); procmem.Now() < end; {
				procmem.SleepUntil(end) // the request's signal ends it
			}
			ptrace.Unpin()
			before := waits()
			call()
			notice()
			n += waits() - before
		}
	}()
	<-done
	return n
}

// notice is where a request is noticed, if there is one.
//
//go:noinline
func notice() {
	var room [128]byte
	fill(room[:])
}

//go:noinline
func fill(b []byte) { b[0]++ }

// waits gives how often the calling thread has waited, as the kernel counts it: getrusage(2), ru_nvcsw.
func waits() int {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_THREAD, &u); err != nil { // it does not tell the scheduler
		panic(fmt.Sprintf("getrusage: %v", err))
	}
	return int(u.Nvcsw)
}
