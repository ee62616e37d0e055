// SPDX-License-Identifier: Apache-2.0

package selfhang

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"prywalk/internal/host/osthread"
)

const watchEvery = 250 * time.Millisecond

// Err is the error of a thread of prywalk that hangs in a system call. The target's threads that prywalk has stopped
// stay stopped until prywalk ends.
var Err = errors.New("a read does not come back")

// Error returns an [Err] for a result of [Stalls].
func Error(what string) error {
	return fmt.Errorf("%w: prywalk hangs in %s, as memory or a file that it reads is not delivered (NFS, FUSE, swap?); "+
		"prywalk's end releases all threads, try again when that storage answers", Err, what)
}

// OnWatchedThread runs f on an OS thread of its own, as [osthread.Run] does. If f hangs in a system call, it returns
// [Err] without waiting for f, which may continue later.
func OnWatchedThread(f func()) error {
	var tid atomic.Int32
	done := make(chan struct{})
	go func() {
		defer close(done)
		osthread.Run(func() {
			tid.Store(int32(unix.Gettid()))
			f()
		})
	}()
	var stalls Stalls
	defer stalls.Close()
	return watch(done, func() string { return stalls.HungTracer(int(tid.Load())) })
}

// Watched runs f on another goroutine. It returns [Err] if any thread of this process hangs in a read.
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
				return Error(what)
			}
		}
	}
}
