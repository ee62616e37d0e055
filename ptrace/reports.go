// SPDX-License-Identifier: Apache-2.0

package ptrace

import (
	"os"

	"prywalk/internal/host/procmem"

	"golang.org/x/sys/unix"
)

const eventStop = 128 // PTRACE_EVENT_STOP

// # Reports
//
// A report is of a thread whose stop is awaited, if only to detach it; or of one that was reported before, and hides
// those of others until it is consumed; or of a tracee renumbered by exec or a child, which has no Attachment.

// handleReport, handleStop, handleExit and handleMissing return the Attachment to deliver, or nil.
func (c *Controller) handleReport(attachment *Attachment, tid int) *Attachment {
	switch code := c.info.code; {
	case code == procmem.CldTrapped:
		return c.handleStop(attachment, tid, c.info.status)
	case code >= procmem.CldExited && code <= procmem.CldDumped:
		return c.handleExit(attachment, tid)
	}
	return nil
}

func (c *Controller) handleStop(attachment *Attachment, tid int, status int32) *Attachment {
	switch {
	case attachment == nil:
		c.releaseUnknown(tid, status)
		return nil
	case attachment.state == attachmentStopped:
		consumeReport(tid)
		return nil
	case attachment.state != attachmentPending:
		return nil
	}
	attachment.setStopped(status)
	attachment.times.StoppedAt = Now()
	attachment.times.LastRunningAt = max(attachment.times.InterruptedAt, c.lastEmptyPoll)
	if attachment.times.late() {
		attachment.atStop = c.Sleeper.counters.begin()
	}
	if attachment.cancelled {
		c.stopper.detachAndFree(attachment)
		return nil
	}
	return attachment
}

func (c *Controller) handleExit(attachment *Attachment, tid int) *Attachment {
	switch {
	case attachment == nil:
		if isTracer(c.tid, tid) {
			reap(tid)
		}
	case attachment.state == attachmentStopped:
		consumeReport(tid)
	case attachment.state == attachmentPending:
		reap(tid)
		return c.end(attachment)
	}
	return nil
}

// handleMissing is for an awaited thread that is no tracee: another thread has reaped it, or an exec has changed its
// id, and its stop comes under that.
func (c *Controller) handleMissing(attachment *Attachment) *Attachment {
	c.mayTraceUnknown, c.renumbered = true, attachment.pid
	return c.end(attachment)
}

func (c *Controller) end(attachment *Attachment) *Attachment {
	if attachment.cancelled {
		c.stopper.attachments.free(attachment)
		return nil
	}
	attachment.state = attachmentGone
	return attachment
}

func (c *Controller) releaseUnknown(tid int, status int32) {
	unknown := Attachment{tid: tid}
	unknown.times.StoppedAt = Now()
	unknown.setStopped(status)
	_ = c.stopper.release(&unknown) // ESRCH if the thread was killed
}

func isTracer(tracer, tid int) bool {
	var st procmem.Status
	return procmem.ReadStatus(tid, &st) == nil && st.TracerPid == tracer
}

// setStopped records a stop. Its status has the signal in bits 0 to 7, the event above.
func (attachment *Attachment) setStopped(status int32) {
	attachment.state, attachment.signal = attachmentStopped, 0
	switch sig := status & 0xff; {
	case status>>8 != eventStop:
		attachment.kind, attachment.signal = KindSignal, sig
	case sig == int32(unix.SIGTRAP):
		attachment.kind = KindInterrupt
	default:
		attachment.kind = KindGroup
	}
}

// lostReportStatus returns the status of a stop whose report is lost. An event stop is in si_code (kernel/signal.c,
// ptrace_do_notify).
func lostReportStatus(info *sigInfo) int32 {
	if info.code>>8 == eventStop {
		return info.code
	}
	return info.signo
}

// reap consumes the end of a thread. A child of this process is left to its own wait.
func reap(tid int) {
	var st procmem.Status
	if procmem.ReadStatus(tid, &st) == nil && st.Tgid == tid && st.PPid == os.Getpid() {
		return
	}
	var info sigInfo
	_ = waitid(unix.P_PID, tid, unix.WEXITED|unix.WALL|unix.WNOTHREAD, &info)
}

// consumeReport consumes the report of a stop, which otherwise hides those of other threads.
func consumeReport(tid int) {
	var info sigInfo
	_ = waitid(unix.P_PID, tid, unix.WSTOPPED|unix.WALL|unix.WNOTHREAD, &info)
}
