// SPDX-License-Identifier: Apache-2.0

package ptrace

import (
	"syscall"

	"prywalk/internal/procmem"

	"golang.org/x/sys/unix"
)

const (
	// watch consumes nothing. WSTOPPED would add other children's stops; tracees' are always reported
	// (kernel/exit.c, wait_task_stopped).
	watch = unix.WEXITED | unix.WNOWAIT | unix.WALL | unix.WNOTHREAD

	askEvery    = 1_000      // ns between polls: each takes a lock that the stop needs, too
	sleepQueued = 8_000      // ns, first sleep for a queued thread
	sleepMin    = 20_000     // ns, first sleep otherwise
	sleepMax    = 200_000    // ns, longest sleep
	lostFor     = 1_000_000  // ns that serveLost waits
	auditEvery  = 2_000_000  // ns between checks of all Tracees
	blockMax    = 20_000_000 // ns, longest sleep that a stop ends
	wakeTakes   = 20_000     // ns, longest wake-up at real-time priority
	auditShare  = 16         // checks of all Tracees take at most 1/auditShare of the time
)

// WaitAny gives a Tracee whose thread has stopped or ended ([Tracee.Ended]), each once; the caller then calls Finish or
// Cancel. It gives nil at the deadline (on the clock of [Now]; 0 means no wait), if nothing is pending, or at
// [Leaving]. It spins for Options.SpinFor after the last interrupt. Then it sleeps until a stop, if the thread has a
// real-time priority and Options.NoCollector is set, else repeatedly for a short time. It also detaches abandoned
// threads.
func (c *Controller) WaitAny(deadline int64) *Tracee {
	sleep, spin := int64(sleepQueued), int64(0)
	if c.tracees.stopsSoon() {
		sleep, spin = sleepMin, c.wakeup
	}
	for until := int64(0); c.tracees.live > 0 || c.lost; {
		l, now := c.ask()
		switch {
		case l != nil:
			return l
		case now >= deadline || c.asked():
			return nil
		case now < spin:
			spinPause(now)
			continue
		case now >= until: // setting the alarm takes long: ask again
			until = min(deadline, now+blockMax)
			c.alarm.set(until)
			continue
		}
		if l, ok := c.block(until); l != nil {
			return l
		} else if !ok {
			c.nanosleep(min(sleep, deadline-now))
			sleep = min(sleep*2, sleepMax)
		}
	}
	return nil
}

// SpinAny is WaitAny, but gives nil where that would sleep.
func (c *Controller) SpinAny(deadline int64) *Tracee {
	if !c.tracees.stopsSoon() {
		deadline = 0
	}
	deadline = min(deadline, c.wakeup)
	for c.tracees.live > 0 || c.lost {
		l, now := c.ask()
		if l != nil || now >= deadline {
			return l
		}
		spinPause(now)
	}
	return nil
}

func spinPause(since int64) {
	for procmem.Now() < since+askEvery {
	}
}

// ask gives the Tracee of a stopped or ended thread, else nil and the time.
func (c *Controller) ask() (l *Tracee, now int64) {
	asked := procmem.Now() // stops after this moment may not be seen
	if l = c.scan(); l != nil {
		return l, 0
	}
	now = procmem.Now()
	c.lastEmptyPoll = asked
	if now >= c.audit {
		l = c.eachPending((*Controller).checkOne)
		c.audit = now + max(auditEvery, (procmem.Now()-now)*auditShare)
	}
	return l, now
}

// block blocks in waitid until a report or a moment. It returns false if there is no alarm and the caller must poll
// with short sleeps.
func (c *Controller) block(until int64) (*Tracee, bool) {
	e, ok := c.awaitStop(until, &c.info)
	if !ok {
		return nil, false
	}
	c.lastEmptyPoll = max(c.lastEmptyPoll, c.woken-wakeTakes)
	if e == unix.EINTR {
		return nil, true
	}
	l := c.reported(e)
	return l, l != nil
}

// Poll reports whether a Tracee's thread has stopped or ended.
func (c *Controller) Poll(l *Tracee) bool {
	if l.state == traceePending {
		c.poll(l)
	}
	return l.state == traceeStopped || l.state == traceeGone
}

func (c *Controller) scan() *Tracee {
	return c.reported(waitid(unix.P_ALL, 0, watch, &c.info))
}

// reported gives the Tracee for the caller after a wait for any tracee. A report of a thread without a pending Tracee
// would hide those of others, so each pending Tracee is then polled.
func (c *Controller) reported(e syscall.Errno) *Tracee {
	if e == unix.ECHILD {
		c.lost = false // no tracee at all
	}
	if e != 0 || c.info.pid == 0 {
		return nil
	}
	tid := int(c.info.pid)
	l := c.tracees.find(tid)
	pending := l != nil && l.state == traceePending
	if got := c.handleReport(l, tid); pending {
		return got
	}
	return c.eachPending((*Controller).poll)
}

func (c *Controller) eachPending(ask func(*Controller, *Tracee) *Tracee) *Tracee {
	for i := 0; i < c.tracees.used; i++ {
		if l := &c.tracees.tracees[i]; l.state == traceePending {
			if l := ask(c, l); l != nil {
				return l
			}
		}
	}
	return nil
}

func (c *Controller) poll(l *Tracee) *Tracee {
	e := waitid(unix.P_PID, l.tid, watch, &c.info)
	switch {
	case e == unix.ECHILD:
		return c.transit(l, l.tid, reportNone, 0)
	case e == 0 && c.info.pid != 0:
		return c.handleReport(l, l.tid)
	}
	return nil
}

// checkOne checks a pending Tracee for a changed thread id, and for a stop whose report another thread has consumed.
func (c *Controller) checkOne(l *Tracee) *Tracee {
	if got := c.poll(l); got != nil || l.state != traceePending {
		return got
	}
	var info sigInfo
	if getSigInfo(l.tid, &info) != 0 {
		return nil
	}
	if got := c.poll(l); got != nil || l.state != traceePending {
		return got
	}
	c.stats.Stolen++
	return c.transit(l, l.tid, reportStop, stolenStatus(&info))
}

// serveLost waits shortly for the stop of a tracee whose id has changed at an exec, to detach it.
func (c *Controller) serveLost() {
	for end := procmem.Now() + lostFor; c.lost && procmem.Now() < end; nanosleep(sleepMin) {
		switch e := waitid(unix.P_ALL, 0, watch, &c.info); {
		case e == unix.ECHILD:
			c.lost = false
		case e == 0 && c.info.pid != 0 && c.tracees.find(int(c.info.pid)) == nil:
			c.handleReport(nil, int(c.info.pid))
		}
	}
}
