// SPDX-License-Identifier: Apache-2.0

package ptrace

import (
	"errors"

	"golang.org/x/sys/unix"

	"prywalk/internal/host/procmem"
)

// Begin attaches to a thread and interrupts it, without waiting; [Controller.WaitAny] or [Controller.Poll] reports the
// stop. A cancelled Attachment whose thread has not stopped is reused. Errors: [ErrGone], [ErrDenied], [ErrTraced],
// [ErrZombie], [ErrKernelThread], [ErrSelf], [ErrBusy], [ErrPending] (with the Attachment), or an errno.
func (c *Controller) Begin(tid int) (*Attachment, error) {
	var st procmem.Status
	_ = procmem.ReadStatus(tid, &st) // on error the seizure fails
	return c.begin(st.Tgid, tid, nil, nil)
}

// BeginReadingClocks is Begin that reads the thread's clocks just before the interrupt ([Attachment.ClocksBefore]).
func (c *Controller) BeginReadingClocks(files *ThreadFiles) (*Attachment, error) {
	return c.begin(files.PID(), files.TID(), files, nil)
}

// BeginWithClocks is Begin with clocks that were read a few µs ago.
func (c *Controller) BeginWithClocks(files *ThreadFiles, before *SchedStat) (*Attachment, error) {
	return c.begin(files.PID(), files.TID(), nil, before)
}

func (c *Controller) begin(pid, tid int, files *ThreadFiles, before *SchedStat) (*Attachment, error) {
	if attachment := c.stopper.attachments.find(tid); attachment != nil {
		return c.reuseCancelled(attachment, files, before)
	}
	attachment := c.stopper.attachments.freeSlot()
	if attachment == nil {
		return nil, ErrBusy
	}
	if err := c.stopper.seize(tid); err != nil {
		return nil, err
	}
	c.stopper.attachments.occupy(attachment, tid)
	attachment.setBefore(files, before)
	attachment.times.InterruptedAt = Now()
	attachment.pid, attachment.reinterruptAt = pid, attachment.times.InterruptedAt.Add(reinterruptAfter)
	if e := ptrace(unix.PTRACE_INTERRUPT, tid, 0, 0); e != 0 {
		attachment.cancelled = true
		// an exec of this thread may have been awaited; it then has its process's id
		if pid > 0 && ptrace(unix.PTRACE_INTERRUPT, pid, 0, 0) == 0 {
			c.mayTraceUnknown, c.renumbered = true, pid
		}
		return nil, ErrGone
	}
	attachment.atInterrupt = c.Sleeper.counters.begin()
	c.spinFrom(attachment.times.InterruptedAt)
	return attachment, nil
}

// reuseCancelled continues a cancelled stop. Its interrupt was earlier: the clocks are of now.
func (c *Controller) reuseCancelled(
	attachment *Attachment, files *ThreadFiles, before *SchedStat,
) (*Attachment, error) {
	if !attachment.cancelled {
		return attachment, ErrPending
	}
	attachment.cancelled, attachment.Tag, attachment.sleeping, attachment.queued = false, 0, false, false
	attachment.setBefore(files, before)
	c.spinFrom(Now())
	return attachment, nil
}

func (attachment *Attachment) setBefore(files *ThreadFiles, before *SchedStat) {
	switch {
	case before != nil:
		attachment.before, attachment.beforeOK = *before, true
	case files != nil:
		sched, err := files.SchedStat()
		attachment.before, attachment.beforeOK = sched, err == nil
	default:
		attachment.before, attachment.beforeOK = SchedStat{}, false
	}
}

// Cancel ends an Attachment. A stopped thread is detached now, any other by a later WaitAny.
func (c *Controller) Cancel(attachment *Attachment) {
	switch attachment.state {
	case attachmentStopped:
		c.stopper.detachAndFree(attachment)
	case attachmentGone:
		c.stopper.attachments.free(attachment)
	case attachmentPending:
		attachment.cancelled = true
		c.poll(attachment)
	}
}

// # Seizures that block
//
// A thread in exec waits until the other threads of its process are gone, and traced ones reaped. It holds
// cred_guard_mutex, which PTRACE_SEIZE takes (fs/exec.c, de_thread; kernel/ptrace.c, ptrace_attach). A tracer that
// seizes another thread of that process deadlocks unless another OS thread reaps.

// A thread that execs takes the ID of its process's first thread, which is a zombie until then (de_thread); a seizure
// of that one fails with EPERM, as of a traced thread. The next one is of the thread with the new program.
const maxSeizures = 3

// seize tries again if nothing refuses it any more.
func (s *stopper) seize(tid int) (err error) {
	for range maxSeizures {
		if err = s.seizeOnce(tid); !errors.Is(err, errNotRefusedNow) {
			return err
		}
	}
	return ErrTraced
}

// seizeOnce can block in PTRACE_SEIZE until the rescuer ends the wait. The rescuer has a goroutine of its own, which
// must get a CPU even if other goroutines wait for the P of this one.
func (s *stopper) seizeOnce(tid int) error {
	s.rescuer.seizeBegan.Store(int64(Now()))
	e := ptraceMayWait(unix.PTRACE_SEIZE, tid)
	s.rescuer.seizeBegan.Store(0)
	if e != 0 {
		return seizeRefused(tid, e, s.seized || !mayBeSeccompFiltered())
	}
	s.seized = true
	return nil
}
