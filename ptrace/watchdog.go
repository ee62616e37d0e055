// SPDX-License-Identifier: Apache-2.0

package ptrace

import (
	"os"
	"runtime"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"prywalk/internal/procmem"
)

// # A tracer that does not sleep
//
// A thread with a real-time priority that runs on and on takes its processor from all ordinary threads, the targets'
// among them, until the kernel throttles it after 0.95 s (sched(7), sched_rt_runtime_us). So a watchdog gives the
// tracer's thread its ordinary priority back once that has run for runsOn without a sleep, wherever it runs: in its own
// code or in the kernel. The watchdog's own thread has the next higher priority, or it would not run on a machine with
// one processor. The tracer raises its priority again some time later, when it next sleeps.
//
// A sleep shows in the count of voluntary switches. It is read only after the tracer has used processor time.

const (
	runsOn       = 20e6 // ns
	watchFor     = 20 * time.Millisecond
	suspectAfter = 5e6 // ns of processor time, after which the count of sleeps is read
	ordinaryFor  = 1e9 // ns
)

// watchdog watches one thread.
type watchdog struct {
	tid      int
	priority uint32 // of that thread
	ordinary unix.SchedAttr
	files    *procmem.ThreadFiles
	cpu      uint64 // the thread's processor time when it was last known to have slept, ns
	slept    uint64 // how often it had slept then
	lowered  atomic.Int64
	times    atomic.Int64
	end      atomic.Bool
}

// newWatchdog prepares to watch the calling thread, whose real-time priority is given, and what it had before.
func newWatchdog(tid int, priority uint32, was *unix.SchedAttr) *watchdog {
	w := &watchdog{tid: tid, priority: priority, ordinary: *was}
	w.ordinary.Size = unix.SizeofSchedAttr
	w.ordinary.Flags |= unix.SCHED_FLAG_RESET_ON_FORK
	w.files = procmem.OpenThread(os.Getpid(), tid, procmem.NewBudget(0))
	return w
}

// run watches until the end. Its OS thread ends with it.
func (w *watchdog) run() {
	runtime.LockOSThread() // never unlocked: the priority is this goroutine's
	defer w.files.Close()
	a := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO,
		Flags: unix.SCHED_FLAG_RESET_ON_FORK, Priority: w.priority + 1}
	_ = unix.SchedSetAttr(0, &a, 0)                             // as an ordinary thread it is late at worst
	defer func() { _ = unix.SchedSetAttr(0, &w.ordinary, 0) }() // the process's first thread does not end
	every := unix.NsecToTimespec(int64(watchFor))
	for !w.end.Load() {
		_ = unix.ClockNanosleep(unix.CLOCK_MONOTONIC, 0, &every, nil) // a signal ends it early
		w.check(procmem.Now())
	}
}

// check lowers the thread's priority if it has run for too long.
func (w *watchdog) check(now int64) {
	sched, err := w.files.SchedStat()
	if err != nil || w.lowered.Load() != 0 || sched.CPU-w.cpu < suspectAfter {
		return
	}
	var s procmem.Status
	if w.files.Status(&s) != nil {
		return
	}
	if s.Sleeps != w.slept {
		w.cpu, w.slept = sched.CPU, s.Sleeps
		return
	}
	if sched.CPU-w.cpu >= runsOn && unix.SchedSetAttr(w.tid, &w.ordinary, 0) == nil {
		w.lowered.Store(now)
		w.times.Add(1)
	}
}

// raiseAgain gives the calling thread, which is the one that is watched, its real-time priority back after some time.
func (w *watchdog) raiseAgain(now int64) {
	if w == nil {
		return
	}
	at := w.lowered.Load()
	if at == 0 || now-at < ordinaryFor {
		return
	}
	a := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO,
		Flags: unix.SCHED_FLAG_RESET_ON_FORK, Priority: w.priority}
	_ = unix.SchedSetAttr(0, &a, 0) // it stays ordinary, else
	w.lowered.Store(0)
}

// close ends the watch.
func (w *watchdog) close() {
	if w != nil {
		w.end.Store(true)
	}
}
