// SPDX-License-Identifier: Apache-2.0

package look

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// OnThread runs f on an OS thread of its own, which ends with it. So the kernel lets go of whatever f could not let
// go of, and a raised priority is nobody else's. The process's first thread never ends while the process lives (the
// Go runtime parks it): it is not used. OnThread returns when f has; a panic of f is the process's.
func OnThread(f func()) {
	done := make(chan struct{})
	go func() {
		runtime.LockOSThread() // never unlocked, unless it is the first thread
		if unix.Gettid() == os.Getpid() {
			OnThread(f) // on another: this one is taken meanwhile
			runtime.UnlockOSThread()
			close(done)
			return
		}
		defer close(done)
		f()
	}()
	<-done
}

// watchEvery is how often it is looked whether a thread hangs.
const watchEvery = 250 * time.Millisecond

// ErrHung says that a thread of this process hangs in a call of the kernel. The process has to end: until then
// whoever that thread held stopped stays so.
var ErrHung = errors.New("a read does not come back")

// Hung makes an error of what [Stalls] tells.
func Hung(what string) error {
	return fmt.Errorf("%w: prywalk hangs in %s, for memory or a file that nobody provides", ErrHung, what)
}

// OnWatchedThread is [OnThread], and comes back with [ErrHung] when f hangs in a call. If that call ever comes back,
// f goes on, and must not harm anybody: its caller ends the process soon.
func OnWatchedThread(f func()) error {
	var tid atomic.Int32
	done := make(chan struct{})
	go func() {
		defer close(done)
		OnThread(func() {
			tid.Store(int32(unix.Gettid()))
			f()
		})
	}()
	var stalls Stalls
	defer stalls.Close()
	return watch(done, func() string { return stalls.Tracer(int(tid.Load())) })
}

// Watched calls f on another goroutine, and comes back with [ErrHung] when a thread of this process hangs while it
// reads.
func Watched(f func()) error {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	var stalls Stalls
	defer stalls.Close()
	return watch(done, func() string { return stalls.Reader(0) })
}

// watch waits until done is closed, or something hangs.
func watch(done chan struct{}, hangs func() string) error {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		select {
		case <-done:
			return nil
		case <-tick.C:
			if what := hangs(); what != "" {
				return Hung(what)
			}
		}
	}
}
