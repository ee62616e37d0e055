// SPDX-License-Identifier: Apache-2.0

package ptrace

import (
	"syscall"

	"prywalk/internal/procmem"

	"golang.org/x/sys/unix"
)

const (
	// watch is how stops are looked for: without consuming them (WNOWAIT), of
	// this thread's tracees only, of whatever kind they are. Stops of tracees
	// are reported whether WSTOPPED is given or not (kernel/exit.c,
	// wait_task_stopped); without it those of other children are not.
	watch = unix.WEXITED | unix.WNOWAIT | unix.WALL | unix.WNOTHREAD

	askEvery    = 1_000      // ns, between two questions of a wait that spins: each takes a lock that a stop takes
	sleepQueued = 8_000      // ns, first sleep of a wait for a thread that waits for this processor
	sleepMin    = 20_000     // ns, first sleep of any other wait
	sleepMax    = 200_000    // ns, longest sleep of a wait
	lostFor     = 1_000_000  // ns, see serveLost
	auditEvery  = 2_000_000  // ns, between checks of all pending looks one by one, at least
	blockMax    = 20_000_000 // ns, longest sleep of a wait that a stop ends
	wakeTakes   = 20_000     // ns, how long a stop takes to wake this thread up, at most, with a real-time priority
	auditShare  = 16         // the part of the time that these checks may take: with hundreds pending, they take long
)

// WaitAny gives a look whose thread has stopped, or has ended ([Look.Ended]): call Finish or Cancel for it. It gives
// nil at the deadline (on the clock of [Now]; 0 only asks), or at once if nothing is pending, or early for
// [Leaving]. What Poll or an earlier call has given is not given again. It spins for at most Options.SpinFor after the
// last interrupt, then sleeps. That is until a thread stops, if this thread has a real-time priority and
// Options.NoCollector is set. Else it wakes up now and then. It also serves abandoned looks.
func (c *Controller) WaitAny(deadline int64) *Look {
	sleep, spin := int64(sleepQueued), c.spinFor()
	if spin > 0 {
		sleep = sleepMin
	}
	for until := int64(0); c.live > 0 || c.lost; {
		l, now := c.ask()
		switch {
		case l != nil:
			return l
		case now >= deadline || c.asked():
			return nil
		case now < spin:
			rest(now)
			continue
		case now >= until: // setting the alarm takes so long that it is better asked once more
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

// SpinAny is WaitAny without sleeping: it gives nil when the time is over for which waits
// spin, too.
func (c *Controller) SpinAny(deadline int64) *Look {
	deadline = min(deadline, c.spinFor())
	for c.live > 0 || c.lost {
		l, now := c.ask()
		if l != nil || now >= deadline {
			return l
		}
		rest(now)
	}
	return nil
}

// nanosleep sleeps in a wait.
func (c *Controller) nanosleep(ns int64) {
	began := procmem.Now()
	nanosleep(ns)
	c.woken, c.rang = procmem.Now(), true
	c.own.sleptSince(began, c.woken)
}

// Nap sleeps until a moment on the clock of [Now], and leaves the alarm as it is.
func (c *Controller) Nap(until int64) {
	if left := until - procmem.Now(); left > 0 {
		c.nanosleep(left)
	}
}

// rest lets askEvery ns pass after a moment.
func rest(since int64) {
	for procmem.Now() < since+askEvery {
	}
}

// spinFor tells until when waits spin: 0 if all that are pending wait for this thread's processor.
func (c *Controller) spinFor() int64 {
	for i := range c.looks[:c.used] {
		if l := &c.looks[i]; l.state == lookPending && !l.queued {
			return c.wakeup
		}
	}
	return 0
}

// ask asks once whether anybody has stopped, and when nobody has, what the time is.
func (c *Controller) ask() (l *Look, now int64) {
	asked := procmem.Now() // whoever stops between the question and the answer is not told of
	if l = c.scan(); l != nil {
		return l, 0
	}
	now = procmem.Now()
	c.idle = asked
	if now >= c.audit {
		l = c.checkAll()
		c.audit = now + max(auditEvery, (procmem.Now()-now)*auditShare)
	}
	return l, now
}

// block sleeps until a thread stops or the moment comes. False if this has to be done by short sleeps: it is not
// possible, or what is reported is nobody's of the pending ones.
func (c *Controller) block(until int64) (*Look, bool) {
	began := procmem.Now()
	e, slept, ok := c.alarm.wait(until, &c.info)
	if !ok {
		return nil, false
	}
	c.woken = procmem.Now()
	c.rang = slept && e == unix.EINTR
	c.own.sleptSince(began, c.woken)
	c.idle = max(c.idle, c.woken-wakeTakes)
	if e == unix.EINTR {
		return nil, true
	}
	l := c.reported(e)
	return l, l != nil
}

// Moved tells that this thread has been moved to another processor. The alarm is set anew there, as the timer's
// interrupt is served where it was set. Whoever runs where this thread sleeps would otherwise be interrupted from afar,
// too late if it leaves a system call meanwhile (kernel/entry/common.c).
func (c *Controller) Moved() { c.alarm.at, c.rang = 0, false }

// SleepUntil sleeps until a moment on the clock of [Now], or until a signal comes. The
// Go scheduler is not told.
func (c *Controller) SleepUntil(at int64) {
	began := procmem.Now()
	if c.watchdog.raiseAgain(began); began >= at {
		return
	}
	if !c.alarm.sleep(at) {
		procmem.SleepUntil(at)
	}
	c.rang = true
	c.own.sleptSince(began, procmem.Now())
}

// Poll asks whether the thread of a look has stopped or ended, without waiting.
func (c *Controller) Poll(l *Look) bool {
	if l.state == lookPending {
		c.poll(l)
	}
	return l.state == lookStopped || l.state == lookGone
}

// scan asks for any of this thread's tracees. What it says of others than the
// pending ones is dealt with, and since it would be said again and hide the rest,
// those are then asked one by one.
func (c *Controller) scan() *Look {
	return c.reported(waitid(unix.P_ALL, 0, watch, &c.info))
}

// reported deals with the answer of a wait for any.
func (c *Controller) reported(e syscall.Errno) *Look {
	if e == unix.ECHILD {
		c.lost = false // there is no tracee at all
	}
	if e != 0 || c.info.pid == 0 {
		return nil
	}
	tid := int(c.info.pid)
	l := c.find(tid)
	pending := l != nil && l.state == lookPending
	if got := c.heed(l, tid); pending {
		return got
	}
	return c.pollAll()
}

// pollAll asks for each pending look by itself.
func (c *Controller) pollAll() *Look {
	for i := 0; i < c.used; i++ {
		if l := &c.looks[i]; l.state == lookPending {
			if l := c.poll(l); l != nil {
				return l
			}
		}
	}
	return nil
}

// poll asks for one pending look.
func (c *Controller) poll(l *Look) *Look {
	e := waitid(unix.P_PID, l.tid, watch, &c.info)
	switch {
	case e == unix.ECHILD:
		return c.transit(l, l.tid, reportNone, 0)
	case e == 0 && c.info.pid != 0:
		return c.heed(l, l.tid)
	}
	return nil
}

// checkAll checks all pending looks one by one.
func (c *Controller) checkAll() *Look {
	for i := 0; i < c.used; i++ {
		if l := &c.looks[i]; l.state == lookPending {
			if l := c.checkOne(l); l != nil {
				return l
			}
		}
	}
	return nil
}

// checkOne finds out whether a look's end or stop is not reported. Either the tracee has a new number, or a wait of
// another thread of this process has taken the report of its stop.
func (c *Controller) checkOne(l *Look) *Look {
	if got := c.poll(l); got != nil || l.state != lookPending {
		return got
	}
	var info sigInfo
	if getSigInfo(l.tid, &info) != 0 {
		return nil // not stopped
	}
	// It may have stopped just now, between the two questions.
	if got := c.poll(l); got != nil || l.state != lookPending {
		return got
	}
	c.stats.Stolen++
	return c.transit(l, l.tid, reportStop, stolenStatus(&info))
}

// serveLost waits a little for a tracee that has changed its number, and lets it
// go when it stops.
func (c *Controller) serveLost() {
	for end := procmem.Now() + lostFor; c.lost && procmem.Now() < end; nanosleep(sleepMin) {
		switch e := waitid(unix.P_ALL, 0, watch, &c.info); {
		case e == unix.ECHILD:
			c.lost = false
		case e == 0 && c.info.pid != 0 && c.find(int(c.info.pid)) == nil:
			c.heed(nil, int(c.info.pid))
		}
	}
}
