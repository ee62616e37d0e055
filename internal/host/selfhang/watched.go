// SPDX-License-Identifier: Apache-2.0

package selfhang

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"prywalk/internal/host/osthread"
	"prywalk/internal/host/procmem"
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

// Deadman ends this process if its goroutines stand still, since no goroutine could: if it uses standStill of CPU time
// without a call of [Deadman.Reset], the kernel kills it (SIGKILL), which releases all threads. After a signal that the
// Go runtime handles, a service would not start again: the exit code would be that of wrong usage, 2. The clock is CPU
// time, as a process that is stopped, or waits for a CPU, is not at fault. A collection that waits for the others wakes
// each 100 µs (runtime/proc.go).
type Deadman struct {
	timer   procmem.Timer
	limit   int64
	created bool
}

// NewDeadman returns a Deadman that is set.
func NewDeadman() *Deadman { return newDeadman(standStill) }

const standStill = 10e9 // CPU time, ns

func newDeadman(limit int64) *Deadman {
	timer, e := procmem.NewTimer(unix.CLOCK_PROCESS_CPUTIME_ID, unix.SIGKILL, 0)
	d := &Deadman{timer: timer, limit: limit, created: e == 0}
	d.Reset()
	return d
}

// Reset sets it again.
func (d *Deadman) Reset() {
	if d.created {
		_ = d.timer.SetIn(d.limit)
	}
}

// Close ends it.
func (d *Deadman) Close() {
	if d.created {
		d.created = false
		d.timer.Delete()
	}
}
