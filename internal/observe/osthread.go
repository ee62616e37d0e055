// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// OnThread runs f on an OS thread that ends with f, so that the kernel detaches what f left attached. A panic in f ends
// the process.
func OnThread(f func()) {
	done := make(chan struct{})
	go func() {
		runtime.LockOSThread() // never unlocked, unless the first thread, which Go does not end
		if unix.Gettid() == os.Getpid() {
			OnThread(f)
			runtime.UnlockOSThread()
			close(done)
			return
		}
		defer close(done)
		f()
	}()
	<-done
}

const watchEvery = 250 * time.Millisecond

// ErrHung means that a thread of this process hangs in a system call. The threads that it has stopped stay stopped
// until the process ends.
var ErrHung = errors.New("a read does not come back")

// Hung returns an ErrHung for a result of [Stalls].
func Hung(what string) error {
	return fmt.Errorf("%w: prywalk hangs in %s: memory or a file that it reads is not delivered", ErrHung, what)
}

// OnWatchedThread is [OnThread], and returns [ErrHung] when f hangs, which may continue later.
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
	return watch(done, func() string { return stalls.HungTracer(int(tid.Load())) })
}

// Watched runs f on another goroutine, and returns [ErrHung] when any thread of this process hangs in a read.
func Watched(f func()) error {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	var stalls Stalls
	defer stalls.Close()
	return watch(done, func() string { return stalls.HungReader(0) })
}

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
