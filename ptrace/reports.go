// SPDX-License-Identifier: Apache-2.0

package ptrace

import (
	"os"

	"prywalk/internal/host/procmem"

	"golang.org/x/sys/unix"
)

const eventStop = 128 // PTRACE_EVENT_STOP

type waitReport uint8

const (
	reportStop waitReport = iota
	reportExit            // exited, to be reaped
	// no tracee: another thread has reaped it, or an exec has changed its id
	reportNone
	numReports
)

type attachmentClass uint8

const (
	classOther     attachmentClass = iota // its thread has ended
	classPending                          // stop awaited
	classCancelled                        // stop awaited, only to detach
	classReported                         // stop already reported
	classUnknown                          // no Attachment
	numClasses
)

func classOf(attachment *Attachment) attachmentClass {
	switch {
	case attachment == nil:
		return classUnknown
	case attachment.state == attachmentPending && attachment.cancelled:
		return classCancelled
	case attachment.state == attachmentPending:
		return classPending
	case attachment.state == attachmentStopped:
		return classReported
	}
	return classOther
}

// actions are taken in this order.
type actions uint16

const (
	doExpectUnknown actions = 1 << iota // expect its stop under an unknown id
	doReap
	doReapOwn // reap it if this thread traces it
	doConsume
	doNoteStop
	doEnd // mark its Attachment as ended
	doDetach
	doFree
	doDeliver
)

var transitions = [numClasses][numReports]actions{
	classPending: {
		reportStop: doNoteStop | doDeliver, reportExit: doReap | doEnd | doDeliver,
		reportNone: doExpectUnknown | doEnd | doDeliver,
	},
	classCancelled: {reportStop: doNoteStop | doDetach, reportExit: doReap | doFree, reportNone: doExpectUnknown | doFree},
	classReported:  {reportStop: doConsume, reportExit: doConsume},
	// A tracee renumbered by exec, or a child.
	classUnknown: {reportStop: doDetach, reportExit: doReapOwn},
}

// handleReport and transit return the Attachment to deliver, or nil.
func (w *waiter) handleReport(attachment *Attachment, tid int) *Attachment {
	switch code := w.info.code; {
	case code == procmem.CldTrapped:
		return w.transit(attachment, tid, reportStop, w.info.status)
	case code >= procmem.CldExited && code <= procmem.CldDumped:
		return w.transit(attachment, tid, reportExit, 0)
	}
	return nil
}

func (w *waiter) transit(attachment *Attachment, tid int, r waitReport, status int32) *Attachment {
	do := transitions[classOf(attachment)][r]
	if do&doExpectUnknown != 0 {
		w.mayTraceUnknown, w.renumbered = true, attachment.pid
	}
	if do&doReap != 0 || do&doReapOwn != 0 && isTracer(w.tid, tid) {
		reap(tid)
	}
	if do&doConsume != 0 {
		consumeReport(tid)
	}
	if do&doNoteStop != 0 {
		attachment.setStopped(status)
		attachment.times.StoppedAt = procmem.Now()
		attachment.times.LastRunningAt = max(attachment.times.InterruptedAt, w.lastEmptyPoll)
		if attachment.times.late() {
			attachment.atStop = w.counters.begin()
		}
	}
	if do&doEnd != 0 {
		attachment.state = attachmentGone
	}
	switch {
	case do&doDetach != 0 && attachment == nil:
		w.releaseUnknown(tid, status)
	case do&doDetach != 0:
		w.detachAndFree(attachment)
	case do&doFree != 0:
		w.attachments.free(attachment)
	}
	if do&doDeliver == 0 {
		return nil
	}
	return attachment
}

func (w *waiter) releaseUnknown(tid int, status int32) {
	unknown := Attachment{tid: tid}
	unknown.times.StoppedAt = procmem.Now()
	unknown.setStopped(status)
	_ = w.release(&unknown) // ESRCH if the thread was killed
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
