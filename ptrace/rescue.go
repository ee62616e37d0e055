package ptrace

import (
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"prywalk/internal/procmem"

	"golang.org/x/sys/unix"
)

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
	tids  []atomic.Int32 // the threads of the pending looks, by their places
	end   chan struct{}
	once  sync.Once
}

const (
	rescueEvery = 50 * time.Millisecond
	rescueAfter = 5 * time.Millisecond // a seizure takes 2 µs
)

func newRescue(n int) *rescue {
	return &rescue{tids: make([]atomic.Int32, n), end: make(chan struct{})}
}

func (r *rescue) close() { r.once.Do(func() { close(r.end) }) }

func (r *rescue) run(a *alarm) {
	tick := time.NewTicker(rescueEvery)
	defer tick.Stop()
	for {
		select {
		case <-r.end:
			return
		case <-tick.C:
		}
		now := procmem.Now()
		if at := r.since.Load(); at != 0 && now-at > int64(rescueAfter) {
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
	var e syscall.Errno
	if c.opts.NoCollector {
		e = ptrace(unix.PTRACE_SEIZE, tid, 0, 0)
	} else {
		e = ptraceMayWait(unix.PTRACE_SEIZE, tid)
	}
	c.rescue.since.Store(0)
	if e != 0 {
		return refusal(tid, e, c.seized || !filtered())
	}
	c.seized = true
	return nil
}
