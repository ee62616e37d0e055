// SPDX-License-Identifier: Apache-2.0

package ptrace

import (
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"prywalk/internal/procmem"
)

// # Seizures that wait
//
// A thread that calls exec ends the others of its process and waits until all are
// gone, a traced one until its tracer has waited for it. All that time it holds the
// lock that PTRACE_SEIZE takes (kernel fs/exec.c, de_thread; kernel/ptrace.c,
// ptrace_attach: cred_guard_mutex). A tracer that seizes one thread while a look at
// another of that process is pending can therefore wait for itself for ever, and
// the target with it. No signal ends that wait, but any thread of the tracer's
// process may wait for the ended threads in its place.

// rescue does that: it looks now and then whether a seizure takes long. It does so too for
// sleeps that an alarm did not end.
type rescue struct {
	since atomic.Int64   // when the seizure began that is under way, 0 if none
	used  atomic.Bool    // somebody was seized since the last look
	tids  []atomic.Int32 // the threads of the pending looks, by their places
	end   chan struct{}
	once  sync.Once
}

// While nobody is seized, as where the kernel samples, it looks less and less often: each of its looks wakes a
// processor that the target may need.
const (
	rescueEvery  = 50 * time.Millisecond
	rescueSeldom = 8 * rescueEvery
	rescueAfter  = 5 * time.Millisecond // a seizure takes 2 µs
)

func newRescue(n int) *rescue {
	return &rescue{tids: make([]atomic.Int32, n), end: make(chan struct{})}
}

func (r *rescue) close() { r.once.Do(func() { close(r.end) }) }

func (r *rescue) run(a *alarm) {
	every := rescueEvery
	timer := time.NewTimer(every)
	defer timer.Stop()
	for {
		select {
		case <-r.end:
			return
		case <-timer.C:
		}
		now, at := procmem.Now(), r.since.Load()
		if every = min(2*every, rescueSeldom); r.used.Swap(false) || at != 0 {
			every = rescueEvery
		}
		timer.Reset(every)
		if at != 0 && now-at > int64(rescueAfter) {
			r.reap()
		}
		a.ringAgain(now)
	}
}

// reap waits for the threads that have ended. The first thread of a process is left
// alone: exec does not wait for it to be waited for, and its status may be somebody
// else's to take.
func (r *rescue) reap() {
	for i := range r.tids {
		tid := int(r.tids[i].Load())
		if tid == 0 {
			continue
		}
		var st procmem.Status
		if procmem.ReadStatus(tid, &st) != nil || st.Tgid == tid {
			continue
		}
		var info sigInfo
		_ = waitid(unix.P_PID, tid, unix.WEXITED|unix.WALL, &info) // somebody else may have
	}
}

// seize attaches to a thread. Unlike the other calls it can wait: the rescue must go on
// then. If a garbage collection can begin meanwhile, which would stop the rescue and wait
// for this thread, the Go scheduler is told.
func (c *Controller) seize(tid int) error {
	c.rescue.since.Store(procmem.Now())
	c.rescue.used.Store(true)
	var e syscall.Errno
	if c.opts.NoCollector {
		e = ptrace(unix.PTRACE_SEIZE, tid, 0, 0)
	} else {
		e = ptraceMayWait(unix.PTRACE_SEIZE, tid)
	}
	c.rescue.since.Store(0)
	if e != 0 {
		return refused(tid, e, c.seized || !filtered())
	}
	c.seized = true
	return nil
}
