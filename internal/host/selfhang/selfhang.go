// SPDX-License-Identifier: Apache-2.0

// Package selfhang finds threads of this process that hang in a read: a page of memory or of a file may wait for ever
// for its provider (userfaultfd, FUSE, a lost network file system). Only SIGKILL ends such a read, so its function is
// left behind.
//
// # Algorithm
//
// A thread hangs if it has been in one uninterruptible system call, for [Watched] also in one interruptible read, for 5
// s without a run ([Stalls]). [Watched] and [OnWatchedThread] check that every 250 ms while a function runs. Where no
// goroutine can check, a timer's signal ends the process ([Deadman]).
package selfhang

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"prywalk/internal/host/process"
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

// OnWatchedThread runs f on an OS thread of its own, as [procmem.OnOSThread] does. If f hangs in a system call, it
// returns [Err] without waiting for f, which may continue later.
func OnWatchedThread(f func()) error {
	var tid atomic.Int32
	onThread := func() {
		tid.Store(int32(unix.Gettid()))
		f()
	}
	return watch(func() { procmem.OnOSThread(onThread) }, func(s *Stalls) string { return s.HungTracer(int(tid.Load())) })
}

// Watched runs f on another goroutine. It returns [Err] if any thread of this process hangs in a read.
func Watched(f func()) error { return watch(f, func(s *Stalls) string { return s.HungReader(0) }) }

func watch(f func(), hangs func(*Stalls) string) error {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	var stalls Stalls
	defer stalls.Close()
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		select {
		case <-done:
			return nil
		case <-tick.C:
			if what := hangs(&stalls); what != "" {
				return Error(what)
			}
		}
	}
}

// Deadman ends this process if its goroutines stand still, since no goroutine could: if it uses standStill of CPU time
// without a call of [Deadman.Reset], the kernel kills it (SIGKILL), which releases all threads. After a signal that the
// Go runtime handles, a service would not start again: the exit code would be that of wrong usage, 2. The clock is CPU
// time, as a process that is stopped, or waits for a CPU, is not at fault. On many CPUs, all of which a process that
// works can use at once, the time grows with their number. A collection that waits for the others wakes
// each 100 µs (runtime/proc.go).
type Deadman struct {
	timer   procmem.Timer
	limit   int64
	created bool
}

// NewDeadman returns a Deadman that is set.
func NewDeadman() *Deadman {
	return newDeadman(min(max(standStill, standStillOnEach*int64(runtime.GOMAXPROCS(0))), mostStandStill))
}

// CPU time, ns.
const (
	standStill       = 10e9
	standStillOnEach = 1e9 // of the CPUs that it may use
	mostStandStill   = 30e9
)

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

// stallAfter is in ns. During a fork of hundreds of GB, memory is unreadable for seconds.
const stallAfter = 5e9

// Stalls detects threads that stay in a call without running. Not safe for concurrent use.
type Stalls struct {
	seen   map[int]*stall
	budget *procmem.FDBudget
}

type stall struct {
	files *procmem.ThreadFiles
	call  int64
	runs  uint64
	since int64 // discovery in the call, CLOCK_MONOTONIC ns; 0: in none
}

// HungTracer returns the uninterruptible call in which a thread hangs, or "".
func (s *Stalls) HungTracer(tid int) string { return s.check(tid, false) }

// HungReader returns the call in which a thread other than except hangs, or "". Threads that read for the tracer are
// left out ([procmem.IsSyscallThread]).
func (s *Stalls) HungReader(except int) string {
	tids, _ := procmem.ListTasks(os.Getpid(), nil)
	for _, tid := range tids {
		if tid == except || procmem.IsSyscallThread(tid) {
			continue
		}
		if what := s.check(tid, true); what != "" {
			return what
		}
	}
	return ""
}

var fileCalls = []string{"openat", "openat2", "read", "pread64", "readlinkat", "newfstatat", "fstat", "statx",
	"getdents64", "process_vm_readv"}

func readsFileOrMemory(call *procmem.SyscallInfo) bool {
	name := process.HostSyscallName(call.Nr)
	return slices.Contains(fileCalls, name) && !(name == "read" && call.Args[0] == 0)
}

func (s *Stalls) check(tid int, readers bool) string {
	seen := s.stallOf(tid)
	var st procmem.Stat
	if seen.files.Stat(&st) != nil { // it has ended, and its ID may be reused
		seen.files.Close()
		delete(s.seen, tid)
		return ""
	}
	if st.State != 'D' && !(readers && st.State == 'S') {
		seen.since = 0
		return ""
	}
	call, err := seen.files.Syscall()
	if err != nil || call.Running || st.State == 'S' && !readsFileOrMemory(&call) {
		seen.since = 0
		return ""
	}
	sched, err := seen.files.SchedStat()
	now := procmem.Now()
	if err != nil || seen.since == 0 || call.Nr != seen.call || sched.Runs != seen.runs {
		seen.call = call.Nr
		seen.runs = sched.Runs
		seen.since = now
		return ""
	}
	if now-seen.since < stallAfter {
		return ""
	}
	return seen.describe()
}

func (s *Stalls) stallOf(tid int) *stall {
	if s.seen == nil {
		s.seen = map[int]*stall{}
		s.budget = procmem.NewFDBudget(reservedFiles)
	}
	seen := s.seen[tid]
	if seen == nil {
		seen = &stall{files: procmem.OpenThread(os.Getpid(), tid, s.budget)}
		s.seen[tid] = seen
	}
	return seen
}

// reservedFiles are left to the rest of the process.
const reservedFiles = 512

// Close closes the threads' files.
func (s *Stalls) Close() {
	for _, seen := range s.seen {
		seen.files.Close()
	}
	s.seen = nil
}

func (s *stall) describe() string {
	what := cmp.Or(process.HostSyscallName(s.call), "a page fault")
	var buf [64]byte
	if where, err := s.files.Wchan(buf[:]); err == nil && len(where) > 0 {
		what += " (the kernel waits in " + string(where) + ")"
	}
	return what
}
