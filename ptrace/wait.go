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

	pollEvery        = 1_000      // ns between polls: each takes a lock that the stop needs
	sleepQueued      = 8_000      // ns, first sleep for a queued thread
	minSleep         = 20_000     // ns, first sleep otherwise
	maxSleep         = 200_000    // ns, longest sleep
	unknownTimeout   = 1_000_000  // ns, limit of awaitUnknown
	checkAllEvery    = 2_000_000  // ns between checks of all Tracees
	maxBlock         = 20_000_000 // ns, longest sleep that a stop ends
	maxWakeTime      = 20_000     // ns, longest wake-up at real-time priority
	checkAllShare    = 16         // these checks take at most 1/checkAllShare of the time
	reinterruptAfter = 20_000_000 // ns between interrupts of a thread that does not stop
)

// waiter waits for stops of threads, on the controller's OS thread, and handles the reports (reports.go).
type waiter struct {
	Sleeper
	stopper
	info                sigInfo // the last report
	tid                 int
	spinFor             int64 // Options.SpinFor, ns
	mayTraceUnknown     bool  // a tracee may have an unknown id, since an exec
	renumbered          int   // the last process in which that was found; 0: none
	suspendAcknowledged bool  // AcknowledgeSuspend was called

	// On the clock of Now:
	spinUntil     int64
	lastEmptyPoll int64 // begin of the last poll without a stop
	nextCheckAll  int64 // next check of all pending Tracees
}

// Attached returns how many threads may be attached: Tracees in use, cancelled ones included, and one for those that
// exec gave another id.
func (w *waiter) Attached() int {
	if w.mayTraceUnknown {
		return w.tracees.live + 1
	}
	return w.tracees.live
}

func (w *waiter) spinFrom(now int64) {
	w.spinUntil = now + w.spinFor
	if w.nextCheckAll < now {
		w.nextCheckAll = now + checkAllEvery
	}
}

// WaitAny returns a Tracee whose thread has stopped or ended ([Tracee.Ended]), each once, for Finish or Cancel; nil at
// the deadline (on the clock of [Now]; 0: at once), if nothing is pending, or when [Suspending]. It spins for
// Options.SpinFor after the last interrupt, then sleeps until a stop, given Options.NoGC and real-time priority
// (or Options.Frugal), else for short times. It also detaches threads whose stops were cancelled.
func (w *waiter) WaitAny(deadline int64) *Tracee {
	sleep, spin := int64(sleepQueued), int64(0)
	if w.tracees.anyStopsSoon() {
		sleep, spin = minSleep, w.spinUntil
	}
	for until := int64(0); w.Attached() > 0; {
		tracee, now := w.findStopped()
		switch {
		case tracee != nil:
			return tracee
		case now >= deadline || w.mustDetach():
			return nil
		case now < spin:
			spinPause(now)
			continue
		case now >= until: // setting the alarm takes long: poll again
			until = min(deadline, now+maxBlock)
			w.alarm.set(until)
			continue
		}
		if tracee, ok := w.block(until); tracee != nil {
			return tracee
		} else if !ok {
			w.nanosleep(min(sleep, deadline-now))
			sleep = min(sleep*2, maxSleep)
		}
	}
	return nil
}

// SpinAny is WaitAny, but returns nil where that would sleep.
func (w *waiter) SpinAny(deadline int64) *Tracee {
	if !w.tracees.anyStopsSoon() {
		deadline = 0
	}
	deadline = min(deadline, w.spinUntil)
	for w.Attached() > 0 {
		tracee, now := w.findStopped()
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
func (w *waiter) findStopped() (tracee *Tracee, now int64) {
	pollBegan := procmem.Now() // later stops may not be seen
	if tracee = w.waitAll(); tracee != nil {
		return tracee, 0
	}
	now = procmem.Now()
	w.lastEmptyPoll = pollBegan
	if now >= w.nextCheckAll {
		w.interruptRenumbered()
		tracee = w.firstOfPending((*waiter).checkOne)
		w.nextCheckAll = now + max(checkAllEvery, (procmem.Now()-now)*checkAllShare)
	}
	return tracee, now
}

// block blocks in waitid until a report or a time. False: the caller must poll.
func (w *waiter) block(until int64) (*Tracee, bool) {
	e, ok := w.awaitStop(until, &w.info)
	if !ok {
		return nil, false
	}
	w.lastEmptyPoll = max(w.lastEmptyPoll, w.wokenAt-maxWakeTime)
	if e == unix.EINTR {
		return nil, true
	}
	tracee := w.traceeOfReport(e)
	return tracee, tracee != nil
}

// Poll reports whether a Tracee's thread has stopped or ended; Finish or Cancel follows.
func (w *waiter) Poll(tracee *Tracee) bool {
	if tracee.state == traceePending {
		w.poll(tracee)
	}
	return tracee.state == traceeStopped || tracee.state == traceeGone
}

func (w *waiter) waitAll() *Tracee {
	return w.traceeOfReport(waitid(unix.P_ALL, 0, waitFlags, &w.info))
}

// traceeOfReport returns the Tracee for a wait's caller. A report without a pending Tracee hides others: each is then
// polled.
func (w *waiter) traceeOfReport(e syscall.Errno) *Tracee {
	if e == unix.ECHILD {
		w.mayTraceUnknown = false // no tracee at all
	}
	if e != 0 || w.info.pid == 0 {
		return nil
	}
	tid := int(w.info.pid)
	tracee := w.tracees.find(tid)
	pending := tracee != nil && tracee.state == traceePending
	if got := w.handleReport(tracee, tid); pending {
		return got
	}
	return w.firstOfPending((*waiter).poll)
}

func (w *waiter) firstOfPending(check func(*waiter, *Tracee) *Tracee) *Tracee {
	for i := 0; i < w.tracees.used; i++ {
		if tracee := &w.tracees.tracees[i]; tracee.state == traceePending {
			if tracee := check(w, tracee); tracee != nil {
				return tracee
			}
		}
	}
	return nil
}

func (w *waiter) poll(tracee *Tracee) *Tracee {
	e := waitid(unix.P_PID, tracee.tid, waitFlags, &w.info)
	switch {
	case e == unix.ECHILD:
		return w.transit(tracee, tracee.tid, reportNone, 0)
	case e == 0 && w.info.pid != 0:
		return w.handleReport(tracee, tracee.tid)
	}
	return nil
}

// checkOne finds a changed thread id, and a report that another thread has consumed.
func (w *waiter) checkOne(tracee *Tracee) *Tracee {
	if got := w.poll(tracee); got != nil || tracee.state != traceePending {
		return got
	}
	var info sigInfo
	if getSigInfo(tracee.tid, &info) != 0 {
		return w.interruptAgain(tracee, procmem.Now())
	}
	if got := w.poll(tracee); got != nil || tracee.state != traceePending {
		return got
	}
	w.stats.LostReports++
	return w.transit(tracee, tracee.tid, reportStop, lostReportStatus(&info))
}

// # Interrupts during an exec
//
// The kernel loses some interrupts of a thread that is in exec (Linux 6.18). So they are repeated; a further one does
// not outlast the detach. If it fails, the thread with this id, by an exec another one, is not traced: the wait for it
// does not say so if it is a child of this OS thread.

func (w *waiter) interruptAgain(tracee *Tracee, now int64) *Tracee {
	if tracee.reinterruptAt == 0 || now < tracee.reinterruptAt {
		return nil
	}
	tracee.reinterruptAt = now + reinterruptAfter
	if ptrace(unix.PTRACE_INTERRUPT, tracee.tid, 0, 0) == unix.ESRCH {
		return w.transit(tracee, tracee.tid, reportNone, 0)
	}
	return nil
}

// interruptRenumbered interrupts the thread that has its process's id since an exec, if it is traced.
func (w *waiter) interruptRenumbered() {
	if w.mayTraceUnknown && w.renumbered != 0 {
		_ = ptrace(unix.PTRACE_INTERRUPT, w.renumbered, 0, 0)
	}
}

// awaitUnknown waits shortly for the stop of a tracee renumbered by exec, to detach it.
func (w *waiter) awaitUnknown() {
	for end := procmem.Now() + unknownTimeout; w.mayTraceUnknown && procmem.Now() < end; nanosleep(minSleep) {
		switch e := waitid(unix.P_ALL, 0, waitFlags, &w.info); {
		case e == unix.ECHILD:
			w.mayTraceUnknown = false
		case e == 0 && w.info.pid != 0 && w.tracees.find(int(w.info.pid)) == nil:
			w.handleReport(nil, int(w.info.pid))
		}
	}
}
