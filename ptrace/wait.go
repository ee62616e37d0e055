// SPDX-License-Identifier: Apache-2.0

package ptrace

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// WSTOPPED would add stops of untraced children. Those of tracees are always reported (kernel/exit.c,
	// wait_task_stopped).
	waitFlags = unix.WEXITED | unix.WNOWAIT | unix.WALL | unix.WNOTHREAD

	pollEvery        = time.Microsecond       // each poll takes a lock that the stop needs
	sleepQueued      = 8 * time.Microsecond   // first sleep for a queued thread
	minSleep         = 20 * time.Microsecond  // first sleep otherwise
	maxSleep         = 200 * time.Microsecond // longest sleep
	unknownTimeout   = time.Millisecond       // limit of awaitUnknown
	checkAllEvery    = 2 * time.Millisecond   // between checks of all attachments
	maxBlock         = 20 * time.Millisecond  // longest sleep that a stop ends
	maxWakeTime      = 20 * time.Microsecond  // longest way from a wake-up to the end of the wait, without [ownQueue]
	checkAllShare    = 16                     // these checks take at most 1/checkAllShare of the time
	reinterruptAfter = 20 * time.Millisecond  // between interrupts of a thread that does not stop
)

// SpinFor is the time in which waits spin after an interrupt. Most running threads stop within it.
const SpinFor = 40 * time.Microsecond

// waiter waits for stops and handles the reports (reports.go).
type waiter struct {
	Sleeper
	stopper
	info                sigInfo
	tid                 int
	mayTraceUnknown     bool // an exec may have renumbered a tracee
	renumbered          int  // process of the last one; 0: none
	suspendAcknowledged bool

	spinUntil, lastEmptyPoll, nextCheckAll Moment
}

// Attached returns how many threads may be attached: attachments in use, cancelled ones included, and one for those
// renumbered by exec.
func (w *waiter) Attached() int {
	if w.mayTraceUnknown {
		return w.attachments.live + 1
	}
	return w.attachments.live
}

func (w *waiter) spinFrom(now Moment) {
	w.spinUntil = now.Add(SpinFor)
	if w.nextCheckAll < now {
		w.nextCheckAll = now.Add(checkAllEvery)
	}
}

// WaitAny returns an Attachment whose thread has stopped or ended ([Attachment.Ended]), each once, for Finish or
// Cancel. It returns nil at the deadline (on the clock of [Now]; 0: at once), if no thread is attached
// ([Controller.Attached]: also by a cancelled stop), or when [Suspending]. It spins for 40 µs after the last interrupt,
// then sleeps: until a stop, given Options.NoGC and real-time priority or Options.SleepUntilStop, else for short times.
// It also detaches cancelled threads.
func (w *waiter) WaitAny(deadline Moment) *Attachment {
	sleep, spin := sleepQueued, Moment(0)
	if w.attachments.anyStopsSoon() {
		sleep, spin = minSleep, w.spinUntil
	}
	// Spin until spin; set the alarm to until, and poll again; sleep until the alarm, or without one for sleep.
	for until := Moment(0); w.Attached() > 0; {
		attachment, now := w.findStopped()
		switch {
		case attachment != nil:
			return attachment
		case now >= deadline || !w.suspendAcknowledged && Suspending():
			return nil
		case now < spin:
			spinPause(now)
			continue
		case now >= until: // setting the alarm takes long: poll again
			until = min(deadline, now.Add(maxBlock))
			w.alarm.set(until)
			continue
		}
		if attachment, ok := w.block(until); attachment != nil {
			return attachment
		} else if !ok {
			w.nanosleep(min(sleep, deadline.Sub(now)))
			sleep = min(sleep*2, maxSleep)
		}
	}
	return nil
}

// SpinAny is WaitAny that returns nil where that would sleep.
func (w *waiter) SpinAny(deadline Moment) *Attachment {
	if !w.attachments.anyStopsSoon() {
		deadline = 0
	}
	deadline = min(deadline, w.spinUntil)
	for w.Attached() > 0 {
		attachment, now := w.findStopped()
		if attachment != nil || now >= deadline {
			return attachment
		}
		spinPause(now)
	}
	return nil
}

func spinPause(since Moment) {
	for Now() < since.Add(pollEvery) {
	}
}

// findStopped returns nil and the time if no thread has stopped.
func (w *waiter) findStopped() (attachment *Attachment, now Moment) {
	pollBegan := Now() // later stops may not be seen
	if attachment = w.attachmentOfReport(waitid(unix.P_ALL, 0, waitFlags, &w.info)); attachment != nil {
		return attachment, 0
	}
	now = Now()
	w.lastEmptyPoll = pollBegan
	if now >= w.nextCheckAll {
		if w.mayTraceUnknown && w.renumbered != 0 {
			_ = ptrace(unix.PTRACE_INTERRUPT, w.renumbered, 0, 0)
		}
		attachment = w.firstOfPending((*waiter).checkOne)
		w.nextCheckAll = now.Add(max(checkAllEvery, Now().Sub(now)*checkAllShare))
	}
	return attachment, now
}

// block sleeps until a stop or the time until. false: there is no alarm, or the report was of no attachment; the caller
// sleeps for a short time.
func (w *waiter) block(until Moment) (*Attachment, bool) {
	e, ok := w.awaitStop(until, &w.info)
	if !ok {
		return nil, false
	}
	w.lastEmptyPoll = max(w.lastEmptyPoll, w.wokenAt.Add(-w.queuedInWait-maxWakeTime))
	if e == unix.EINTR {
		return nil, true
	}
	attachment := w.attachmentOfReport(e)
	return attachment, attachment != nil
}

// Poll reports whether an Attachment's thread has stopped or ended.
func (w *waiter) Poll(attachment *Attachment) bool {
	if attachment.state == attachmentPending {
		w.poll(attachment)
	}
	return attachment.state == attachmentStopped || attachment.state == attachmentGone
}

// attachmentOfReport handles a report. One without a pending Attachment hides others: each is then polled.
func (w *waiter) attachmentOfReport(e syscall.Errno) *Attachment {
	if e == unix.ECHILD {
		w.mayTraceUnknown = false
	}
	if e != 0 || w.info.pid == 0 {
		return nil
	}
	tid := int(w.info.pid)
	attachment := w.attachments.find(tid)
	pending := attachment != nil && attachment.state == attachmentPending
	if got := w.handleReport(attachment, tid); pending {
		return got
	}
	return w.firstOfPending((*waiter).poll)
}

func (w *waiter) firstOfPending(check func(*waiter, *Attachment) *Attachment) *Attachment {
	for i := 0; i < w.attachments.used; i++ {
		if attachment := &w.attachments.list[i]; attachment.state == attachmentPending {
			if attachment := check(w, attachment); attachment != nil {
				return attachment
			}
		}
	}
	return nil
}

func (w *waiter) poll(attachment *Attachment) *Attachment {
	e := waitid(unix.P_PID, attachment.tid, waitFlags, &w.info)
	switch {
	case e == unix.ECHILD:
		return w.noteMissing(attachment)
	case e == 0 && w.info.pid != 0:
		return w.handleReport(attachment, attachment.tid)
	}
	return nil
}

// checkOne finds a changed thread id, and a report consumed elsewhere.
func (w *waiter) checkOne(attachment *Attachment) *Attachment {
	if got := w.poll(attachment); got != nil || attachment.state != attachmentPending {
		return got
	}
	var info sigInfo
	if getSigInfo(attachment.tid, &info) != 0 {
		return w.interruptAgain(attachment, Now())
	}
	if got := w.poll(attachment); got != nil || attachment.state != attachmentPending {
		return got
	}
	w.stats.LostReports++
	return w.noteStop(attachment, attachment.tid, lostReportStatus(&info))
}

// # Interrupts during an exec
//
// The kernel loses some interrupts of a thread that is in exec (Linux 6.18), so prywalk repeats them. A detach discards
// a second interrupt. If the repeated interrupt fails, another thread has this number since an exec, and prywalk does
// not trace it. A wait for the number does not show that: it only finds nothing.

func (w *waiter) interruptAgain(attachment *Attachment, now Moment) *Attachment {
	if now < attachment.reinterruptAt {
		return nil
	}
	attachment.reinterruptAt = now.Add(reinterruptAfter)
	if ptrace(unix.PTRACE_INTERRUPT, attachment.tid, 0, 0) == unix.ESRCH {
		return w.noteMissing(attachment)
	}
	return nil
}

func (w *waiter) awaitUnknown() {
	for end := Now().Add(unknownTimeout); w.mayTraceUnknown && Now() < end; nanosleep(minSleep) {
		switch e := waitid(unix.P_ALL, 0, waitFlags, &w.info); {
		case e == unix.ECHILD:
			w.mayTraceUnknown = false
		case e == 0 && w.info.pid != 0 && w.attachments.find(int(w.info.pid)) == nil:
			w.handleReport(nil, int(w.info.pid))
		}
	}
}
