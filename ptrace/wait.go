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

// Attached returns how many threads may be attached: attachments in use, cancelled ones included, and one for those
// renumbered by exec.
func (c *Controller) Attached() int {
	if c.mayTraceUnknown {
		return c.stopper.attachments.live + 1
	}
	return c.stopper.attachments.live
}

func (c *Controller) spinFrom(now Moment) {
	c.spinUntil = now.Add(SpinFor)
	if c.nextCheckAll < now {
		c.nextCheckAll = now.Add(checkAllEvery)
	}
}

// WaitAny returns an Attachment whose thread has stopped or ended ([Attachment.Ended]), each once, for Finish or
// Cancel. It returns nil at the deadline (on the clock of [Now]; 0 means at once), or if no thread is attached
// ([Controller.Attached]: also by a cancelled stop), or when [Suspending]. It spins for 40 µs after the last interrupt,
// then sleeps: until a stop, given Options.NoGC and real-time priority or Options.SleepUntilStop, else for short times.
// It also detaches cancelled threads.
func (c *Controller) WaitAny(deadline Moment) *Attachment {
	sleep, spin := sleepQueued, Moment(0)
	if c.stopper.attachments.anyStopsSoon() {
		sleep, spin = minSleep, c.spinUntil
	}
	// Spin until spin; set the alarm to until, and poll again; sleep until the alarm, or without one for sleep.
	for until := Moment(0); c.Attached() > 0; {
		attachment, now := c.findStopped()
		switch {
		case attachment != nil:
			return attachment
		case now >= deadline || !c.suspendAcknowledged && Suspending():
			return nil
		case now < spin:
			spinPause(now)
			continue
		case now >= until: // setting the alarm takes long: poll again
			until = min(deadline, now.Add(maxBlock))
			c.Sleeper.alarm.set(until)
			continue
		}
		if attachment, ok := c.block(until); attachment != nil {
			return attachment
		} else if !ok {
			c.Sleeper.nanosleep(min(sleep, deadline.Sub(now)))
			sleep = min(sleep*2, maxSleep)
		}
	}
	return nil
}

// SpinAny is WaitAny that returns nil where that would sleep.
func (c *Controller) SpinAny(deadline Moment) *Attachment {
	if !c.stopper.attachments.anyStopsSoon() {
		deadline = 0
	}
	deadline = min(deadline, c.spinUntil)
	for c.Attached() > 0 {
		attachment, now := c.findStopped()
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
func (c *Controller) findStopped() (attachment *Attachment, now Moment) {
	pollBegan := Now() // later stops may not be seen
	if attachment = c.attachmentOfReport(waitid(unix.P_ALL, 0, waitFlags, &c.info)); attachment != nil {
		return attachment, 0
	}
	now = Now()
	c.lastEmptyPoll = pollBegan
	if now >= c.nextCheckAll {
		if c.mayTraceUnknown && c.renumbered != 0 {
			_ = ptrace(unix.PTRACE_INTERRUPT, c.renumbered, 0, 0)
		}
		attachment = c.firstOfPending((*Controller).checkOne)
		c.nextCheckAll = now.Add(max(checkAllEvery, Now().Sub(now)*checkAllShare))
	}
	return attachment, now
}

// block sleeps until a stop or the time until. false means that there is no alarm, or the report was of no attachment;
// the caller sleeps for a short time.
func (c *Controller) block(until Moment) (*Attachment, bool) {
	e, ok := c.Sleeper.awaitStop(until, &c.info)
	if !ok {
		return nil, false
	}
	c.lastEmptyPoll = max(c.lastEmptyPoll, c.Sleeper.wokenAt.Add(-c.Sleeper.queuedInWait-maxWakeTime))
	if e == unix.EINTR {
		return nil, true
	}
	attachment := c.attachmentOfReport(e)
	return attachment, attachment != nil
}

// Poll reports whether an Attachment's thread has stopped or ended.
func (c *Controller) Poll(attachment *Attachment) bool {
	if attachment.state == attachmentPending {
		c.poll(attachment)
	}
	return attachment.state == attachmentStopped || attachment.state == attachmentGone
}

// attachmentOfReport handles a report. One without a pending Attachment hides others: each is then polled.
func (c *Controller) attachmentOfReport(e syscall.Errno) *Attachment {
	if e == unix.ECHILD {
		c.mayTraceUnknown = false
	}
	if e != 0 || c.info.pid == 0 {
		return nil
	}
	tid := int(c.info.pid)
	attachment := c.stopper.attachments.find(tid)
	pending := attachment != nil && attachment.state == attachmentPending
	if got := c.handleReport(attachment, tid); pending {
		return got
	}
	return c.firstOfPending((*Controller).poll)
}

func (c *Controller) firstOfPending(check func(*Controller, *Attachment) *Attachment) *Attachment {
	for i := 0; i < c.stopper.attachments.used; i++ {
		if attachment := &c.stopper.attachments.list[i]; attachment.state == attachmentPending {
			if attachment := check(c, attachment); attachment != nil {
				return attachment
			}
		}
	}
	return nil
}

func (c *Controller) poll(attachment *Attachment) *Attachment {
	e := waitid(unix.P_PID, attachment.tid, waitFlags, &c.info)
	switch {
	case e == unix.ECHILD:
		return c.handleMissing(attachment)
	case e == 0 && c.info.pid != 0:
		return c.handleReport(attachment, attachment.tid)
	}
	return nil
}

// checkOne finds a changed thread id, and a report consumed elsewhere.
func (c *Controller) checkOne(attachment *Attachment) *Attachment {
	if got := c.poll(attachment); got != nil || attachment.state != attachmentPending {
		return got
	}
	var info sigInfo
	if getSigInfo(attachment.tid, &info) != 0 {
		return c.interruptAgain(attachment, Now())
	}
	if got := c.poll(attachment); got != nil || attachment.state != attachmentPending {
		return got
	}
	c.stopper.stats.LostReports++
	return c.handleStop(attachment, attachment.tid, lostReportStatus(&info))
}

// # Interrupts during an exec
//
// The kernel loses some interrupts of a thread that is in exec (Linux 6.18), so prywalk repeats them. A detach discards
// a second interrupt. If the repeated interrupt fails, another thread has this number since an exec, and prywalk does
// not trace it. A wait for the number does not show that: it only finds nothing.

func (c *Controller) interruptAgain(attachment *Attachment, now Moment) *Attachment {
	if now < attachment.reinterruptAt {
		return nil
	}
	attachment.reinterruptAt = now.Add(reinterruptAfter)
	if ptrace(unix.PTRACE_INTERRUPT, attachment.tid, 0, 0) == unix.ESRCH {
		return c.handleMissing(attachment)
	}
	return nil
}

func (c *Controller) awaitUnknown() {
	for end := Now().Add(unknownTimeout); c.mayTraceUnknown && Now() < end; nanosleep(minSleep) {
		switch e := waitid(unix.P_ALL, 0, waitFlags, &c.info); {
		case e == unix.ECHILD:
			c.mayTraceUnknown = false
		case e == 0 && c.info.pid != 0 && c.stopper.attachments.find(int(c.info.pid)) == nil:
			c.handleReport(nil, int(c.info.pid))
		}
	}
}
