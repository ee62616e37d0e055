// SPDX-License-Identifier: Apache-2.0

package ptrace

import (
	"syscall"

	"prywalk/internal/procmem"

	"golang.org/x/sys/unix"
)

const (
	// waitFlags consumes nothing. WSTOPPED would add stops of untraced children; tracees' are always reported
	// (kernel/exit.c, wait_task_stopped).
	waitFlags = unix.WEXITED | unix.WNOWAIT | unix.WALL | unix.WNOTHREAD

	pollEvery      = 1_000      // ns between polls: each takes a lock that the stop needs
	sleepQueued    = 8_000      // ns, first sleep for a queued thread
	minSleep       = 20_000     // ns, first sleep otherwise
	maxSleep       = 200_000    // ns, longest sleep
	unknownTimeout = 1_000_000  // ns, limit of awaitUnknown
	checkAllEvery  = 2_000_000  // ns between checks of all Tracees
	maxBlock       = 20_000_000 // ns, longest sleep that a stop ends
	maxWakeTime    = 20_000     // ns, longest wake-up at real-time priority
	checkAllShare  = 16         // these checks take at most 1/checkAllShare of the time
	againAfter     = 20_000_000 // ns between interrupts of a thread that does not stop
)

// WaitAny returns a Tracee whose thread has stopped or ended ([Tracee.Ended]), each once, for Finish or Cancel; nil at
// the deadline (on the clock of [Now]; 0: at once), if nothing is pending, or when [Suspending]. It spins for
// Options.SpinFor after the last interrupt, then sleeps until a stop, given Options.NoGC and real-time priority
// (or Options.Frugal), else for short times. It also detaches abandoned threads.
func (c *Controller) WaitAny(deadline int64) *Tracee {
	sleep, spin := int64(sleepQueued), int64(0)
	if c.tracees.anyStopsSoon() {
		sleep, spin = minSleep, c.spinUntil
	}
	for until := int64(0); c.Pending() > 0; {
		tracee, now := c.findStopped()
		switch {
		case tracee != nil:
			return tracee
		case now >= deadline || c.mustDetach():
			return nil
		case now < spin:
			spinPause(now)
			continue
		case now >= until: // setting the alarm takes long: poll again
			until = min(deadline, now+maxBlock)
			c.alarm.set(until)
			continue
		}
		if tracee, ok := c.block(until); tracee != nil {
			return tracee
		} else if !ok {
			c.nanosleep(min(sleep, deadline-now))
			sleep = min(sleep*2, maxSleep)
		}
	}
	return nil
}

// SpinAny is WaitAny, but returns nil where that would sleep.
func (c *Controller) SpinAny(deadline int64) *Tracee {
	if !c.tracees.anyStopsSoon() {
		deadline = 0
	}
	deadline = min(deadline, c.spinUntil)
	for c.Pending() > 0 {
		tracee, now := c.findStopped()
		if tracee != nil || now >= deadline {
			return tracee
		}
		spinPause(now)
	}
	return nil
}

func spinPause(since int64) {
	for procmem.Now() < since+pollEvery {
	}
}

// findStopped returns the Tracee of a stopped or ended thread, else nil and the time.
func (c *Controller) findStopped() (tracee *Tracee, now int64) {
	pollBegan := procmem.Now() // later stops may not be seen
	if tracee = c.waitAll(); tracee != nil {
		return tracee, 0
	}
	now = procmem.Now()
	c.lastEmptyPoll = pollBegan
	if now >= c.nextCheckAll {
		c.interruptRenumbered()
		tracee = c.eachPending((*Controller).checkOne)
		c.nextCheckAll = now + max(checkAllEvery, (procmem.Now()-now)*checkAllShare)
	}
	return tracee, now
}

// block blocks in waitid until a report or a time. False: the caller must poll.
func (c *Controller) block(until int64) (*Tracee, bool) {
	e, ok := c.awaitStop(until, &c.info)
	if !ok {
		return nil, false
	}
	c.lastEmptyPoll = max(c.lastEmptyPoll, c.wokenAt-maxWakeTime)
	if e == unix.EINTR {
		return nil, true
	}
	tracee := c.traceeOfReport(e)
	return tracee, tracee != nil
}

// Poll reports whether a Tracee's thread has stopped or ended; Finish or Cancel follows.
func (c *Controller) Poll(tracee *Tracee) bool {
	if tracee.state == traceePending {
		c.poll(tracee)
	}
	return tracee.state == traceeStopped || tracee.state == traceeGone
}

func (c *Controller) waitAll() *Tracee {
	return c.traceeOfReport(waitid(unix.P_ALL, 0, waitFlags, &c.info))
}

// traceeOfReport returns the Tracee for a wait's caller. A report without a pending Tracee hides others: each is then
// polled.
func (c *Controller) traceeOfReport(e syscall.Errno) *Tracee {
	if e == unix.ECHILD {
		c.mayTraceUnknown = false // no tracee at all
	}
	if e != 0 || c.info.pid == 0 {
		return nil
	}
	tid := int(c.info.pid)
	tracee := c.tracees.find(tid)
	pending := tracee != nil && tracee.state == traceePending
	if got := c.handleReport(tracee, tid); pending {
		return got
	}
	return c.eachPending((*Controller).poll)
}

func (c *Controller) eachPending(check func(*Controller, *Tracee) *Tracee) *Tracee {
	for i := 0; i < c.tracees.used; i++ {
		if tracee := &c.tracees.tracees[i]; tracee.state == traceePending {
			if tracee := check(c, tracee); tracee != nil {
				return tracee
			}
		}
	}
	return nil
}

func (c *Controller) poll(tracee *Tracee) *Tracee {
	e := waitid(unix.P_PID, tracee.tid, waitFlags, &c.info)
	switch {
	case e == unix.ECHILD:
		return c.transit(tracee, tracee.tid, reportNone, 0)
	case e == 0 && c.info.pid != 0:
		return c.handleReport(tracee, tracee.tid)
	}
	return nil
}

// checkOne finds a changed thread id, and a report that another thread has consumed.
func (c *Controller) checkOne(tracee *Tracee) *Tracee {
	if got := c.poll(tracee); got != nil || tracee.state != traceePending {
		return got
	}
	var info sigInfo
	if getSigInfo(tracee.tid, &info) != 0 {
		return c.interruptAgain(tracee, procmem.Now())
	}
	if got := c.poll(tracee); got != nil || tracee.state != traceePending {
		return got
	}
	c.stats.LostReports++
	return c.transit(tracee, tracee.tid, reportStop, lostReportStatus(&info))
}

// # Interrupts during an exec
//
// The kernel loses some interrupts of a thread that is in exec (Linux 6.18). So they are repeated; a further one does
// not outlast the detach. If it fails, the thread with this id, by an exec another one, is not traced: the wait for it
// does not say so if it is a child of this OS thread.

func (c *Controller) interruptAgain(tracee *Tracee, now int64) *Tracee {
	if tracee.againAt == 0 || now < tracee.againAt {
		return nil
	}
	tracee.againAt = now + againAfter
	if ptrace(unix.PTRACE_INTERRUPT, tracee.tid, 0, 0) == unix.ESRCH {
		return c.transit(tracee, tracee.tid, reportNone, 0)
	}
	return nil
}

// interruptRenumbered interrupts the thread that has its process's id since an exec, if it is traced.
func (c *Controller) interruptRenumbered() {
	if c.mayTraceUnknown && c.renumbered != 0 {
		_ = ptrace(unix.PTRACE_INTERRUPT, c.renumbered, 0, 0)
	}
}

// awaitUnknown waits shortly for the stop of a tracee renumbered by exec, to detach it.
func (c *Controller) awaitUnknown() {
	for end := procmem.Now() + unknownTimeout; c.mayTraceUnknown && procmem.Now() < end; nanosleep(minSleep) {
		switch e := waitid(unix.P_ALL, 0, waitFlags, &c.info); {
		case e == unix.ECHILD:
			c.mayTraceUnknown = false
		case e == 0 && c.info.pid != 0 && c.tracees.find(int(c.info.pid)) == nil:
			c.handleReport(nil, int(c.info.pid))
		}
	}
}
