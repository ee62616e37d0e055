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
	"os"
	"slices"
	"strconv"

	"prywalk/internal/host/process"
	"prywalk/internal/host/procmem"
)

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
	entries, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return ""
	}
	for _, e := range entries {
		tid, err := strconv.Atoi(e.Name())
		if err != nil || tid == except || procmem.IsSyscallThread(tid) {
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
	what := process.HostSyscallName(s.call)
	var buf [64]byte
	if where, err := s.files.Wchan(buf[:]); err == nil && len(where) > 0 {
		what += " (the kernel waits in " + string(where) + ")"
	}
	return what
}
