// SPDX-License-Identifier: Apache-2.0

package ptrace

import (
	"golang.org/x/sys/unix"

	"prywalk/internal/procmem"
)

// Begin attaches to a thread and interrupts it, without waiting; [Controller.WaitAny] or [Controller.Poll] reports the
// stop. A cancelled Tracee whose thread has not stopped is reused. Errors: [ErrGone], [ErrDenied], [ErrTraced],
// [ErrZombie], [ErrKernelThread], [ErrSelf], [ErrBusy], [ErrPending] (with the Tracee), or an errno.
func (c *Controller) Begin(tid int) (*Tracee, error) {
	var st procmem.Status
	_ = procmem.ReadStatus(tid, &st) // on error the seizure fails
	return c.begin(st.Tgid, tid, nil, nil)
}

// BeginReadingClocks is Begin, and reads the thread's clocks just before the interrupt ([Tracee.ClocksBefore]).
func (c *Controller) BeginReadingClocks(files *ThreadFiles) (*Tracee, error) {
	return c.begin(files.PID(), files.TID(), files, nil)
}

// BeginWithClocks is BeginReadingClocks with clocks read a few µs ago. If the thread has got a CPU since, it counts as
// queued.
func (c *Controller) BeginWithClocks(files *ThreadFiles, before *SchedStat) (*Tracee, error) {
	return c.begin(files.PID(), files.TID(), nil, before)
}

func (c *Controller) begin(pid, tid int, files *ThreadFiles, before *SchedStat) (*Tracee, error) {
	if tracee := c.tracees.find(tid); tracee != nil {
		return c.reuseCancelled(tracee, files, before)
	}
	tracee := c.tracees.freeSlot()
	if tracee == nil {
		return nil, ErrBusy
	}
	if err := c.seize(tid); err != nil {
		return nil, err
	}
	c.tracees.occupy(tracee, tid)
	c.stats.Begun++
	tracee.setBefore(files, before)
	tracee.times.InterruptedAt = procmem.Now()
	tracee.pid, tracee.reinterruptAt = pid, tracee.times.InterruptedAt+reinterruptAfter
	if e := ptrace(unix.PTRACE_INTERRUPT, tid, 0, 0); e != 0 {
		tracee.cancelled = true // until its end is reported
		// the seizure may have waited for an exec of this thread, which then has the first thread's id
		if pid > 0 && ptrace(unix.PTRACE_INTERRUPT, pid, 0, 0) == 0 {
			c.mayTraceUnknown, c.renumbered = true, pid
		}
		return nil, ErrGone
	}
	tracee.atInterrupt = c.counters.begin()
	c.spinFrom(tracee.times.InterruptedAt)
	return tracee, nil
}

// reuseCancelled continues a cancelled stop. Its interrupt was earlier: the clocks are of now.
func (c *Controller) reuseCancelled(tracee *Tracee, files *ThreadFiles, before *SchedStat) (*Tracee, error) {
	if !tracee.cancelled {
		return tracee, ErrPending
	}
	tracee.cancelled, tracee.Tag, tracee.sleeping, tracee.queued = false, 0, false, false
	tracee.setBefore(files, before)
	c.spinFrom(procmem.Now())
	return tracee, nil
}

func (tracee *Tracee) setBefore(files *ThreadFiles, before *SchedStat) {
	switch {
	case before != nil:
		tracee.before, tracee.beforeOK = *before, true
	case files != nil:
		sched, err := files.SchedStat()
		tracee.before, tracee.beforeOK = sched, err == nil
	default:
		tracee.before, tracee.beforeOK = SchedStat{}, false
	}
}

// Cancel gives a Tracee up: a stopped thread is detached now, any other by a later WaitAny when it stops. The Tracee
// must not be used afterwards.
func (c *Controller) Cancel(tracee *Tracee) {
	switch tracee.state {
	case traceeStopped:
		c.detachAndFree(tracee)
	case traceeGone:
		c.tracees.free(tracee)
	case traceePending:
		if !tracee.cancelled {
			tracee.cancelled = true
			c.stats.Cancelled++
		}
		c.poll(tracee)
	}
}
