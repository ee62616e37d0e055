// SPDX-License-Identifier: Apache-2.0

package look

import (
	"os"
	"slices"
	"strconv"

	"prywalk/internal/process"
	"prywalk/internal/procmem"
)

// A read of another process can wait for whoever provides the memory or the file, without end, and no signal but
// SIGKILL ends that. Nobody but another thread can tell then: it sees that a thread of this process stays in the same
// call, in which it does not run.

// stallAfter is for how long a thread must not have run inside of one call before it is said to hang, in nanoseconds.
// Reads of memory take microseconds, those of a disk that is busy rarely a second; while a process of some hundred
// gigabytes forks, its memory cannot be read for seconds.
const stallAfter = 5e9

// Stalls watches threads of this process. It belongs to one goroutine.
type Stalls struct {
	seen   map[int]*stall
	budget *procmem.Budget
}

// stall is a thread that was found in a call.
type stall struct {
	files *procmem.ThreadFiles
	call  int64 // its number
	runs  uint64
	since int64 // 0: it was in none
}

// Tracer tells what a tracer's thread hangs in, "" if it does not: any call in which no signal reaches it.
func (w *Stalls) Tracer(tid int) string { return w.check(tid, false) }

// Reader tells what any thread of this process hangs in while it reads a file or memory, "" if none does. but is left
// out, and so are the threads that nothing waits for ([procmem.IsRelay]).
func (w *Stalls) Reader(but int) string {
	entries, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return ""
	}
	for _, e := range entries {
		tid, err := strconv.Atoi(e.Name())
		if err != nil || tid == but || procmem.IsRelay(tid) {
			continue
		}
		if what := w.check(tid, true); what != "" {
			return what
		}
	}
	return ""
}

// fileCalls are the calls by which files and memory of others are read.
var fileCalls = []string{"openat", "openat2", "read", "pread64", "readlinkat", "newfstatat", "fstat", "statx",
	"getdents64", "process_vm_readv"}

// reads reports whether a call reads something else than the standard input.
func reads(call *procmem.SyscallInfo) bool {
	name := process.SyscallName(hostArch(), call.Nr)
	return slices.Contains(fileCalls, name) && !(name == "read" && call.Args[0] == 0)
}

// check notes where a thread is, and tells it if that has been the same for too long. Of one that sleeps so that a
// signal wakes it, only reads count, and only if that is asked for. Mostly this is one call of the kernel.
func (w *Stalls) check(tid int, readers bool) string {
	s := w.of(tid)
	var st procmem.Stat
	if s.files.Stat(&st) != nil || st.State != 'D' && !(readers && st.State == 'S') {
		s.since = 0
		return ""
	}
	call, err := s.files.Syscall()
	if err != nil || call.Running || st.State == 'S' && !reads(&call) {
		s.since = 0
		return ""
	}
	sched, err := s.files.SchedStat()
	now := procmem.Now()
	if err != nil || s.since == 0 || call.Nr != s.call || sched.Runs != s.runs {
		s.call, s.runs, s.since = call.Nr, sched.Runs, now
		return ""
	}
	if now-s.since < stallAfter {
		return ""
	}
	return s.describe()
}

// of gives what is known of a thread.
func (w *Stalls) of(tid int) *stall {
	if w.seen == nil {
		w.seen, w.budget = map[int]*stall{}, procmem.NewBudget(keptBack)
	}
	s := w.seen[tid]
	if s == nil {
		s = &stall{files: procmem.OpenThread(os.Getpid(), tid, w.budget)}
		w.seen[tid] = s
	}
	return s
}

// keptBack is how many descriptors are left to all others.
const keptBack = 512

// Close lets go of the files of those threads.
func (w *Stalls) Close() {
	for _, s := range w.seen {
		s.files.Close()
	}
	w.seen = nil
}

// describe names the call and where the kernel waits in it.
func (s *stall) describe() string {
	what := process.SyscallName(hostArch(), s.call)
	var buf [64]byte
	if where, err := s.files.Wchan(buf[:]); err == nil && len(where) > 0 {
		what += " (the kernel waits in " + string(where) + ")"
	}
	return what
}
