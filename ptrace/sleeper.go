// SPDX-License-Identifier: Apache-2.0

package ptrace

import (
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"prywalk/internal/host/procmem"
)

// Sleeper makes a [Controller]'s sleeps.
type Sleeper struct {
	alarm        alarm
	watchdog     *watchdog // nil at ordinary priority
	counters     sleepCounters
	ownQueue     ownQueue
	wokenAt      Moment        // 0 means never
	queuedInWait time.Duration // part of the last wait for a stop ([ownQueue])
	wokenByTimer bool          // the last sleep ended by its timer
}

// WokenAt returns when this thread last woke from a wait for a stop or from NanosleepUntil, on the clock of [Now]; 0
// means never. It may have displaced a thread then.
func (s *Sleeper) WokenAt() Moment { return s.wokenAt }

// WokenByTimer reports whether this thread's timer on its current CPU ended the last sleep. Otherwise the displaced
// thread may run on for some µs, mostly to the end of a system call.
func (s *Sleeper) WokenByTimer() bool { return s.wokenByTimer }

// ClearWokenByTimer clears WokenByTimer.
func (s *Sleeper) ClearWokenByTimer() { s.wokenByTimer = false }

// ForgetAlarm is for a move to another CPU, where the alarm is set again: a timer on another CPU interrupts a thread
// that leaves a system call too late (kernel/entry/common.c).
func (s *Sleeper) ForgetAlarm() { s.alarm.expiresAt, s.wokenByTimer = 0, false }

// NanosleepUntil sleeps until a time on the clock of [Now], without the alarm.
func (s *Sleeper) NanosleepUntil(until Moment) {
	if left := until.Sub(Now()); left > 0 {
		s.nanosleep(left)
	}
}

// SleepUntil sleeps until a time on the clock of [Now] or a signal. It hands back the P, and no pin holds meanwhile.
func (s *Sleeper) SleepUntil(at Moment) {
	began := Now()
	if s.watchdog.raiseAgain(began); began >= at {
		return
	}
	if !s.alarm.sleep(at) {
		sleepUntil(at)
	}
	now := Now()
	s.wokenByTimer = true
	s.counters.countSleep(began, now, 0)
}

func (s *Sleeper) nanosleep(d time.Duration) {
	began := Now()
	nanosleep(d)
	s.wokenAt = Now()
	s.wokenByTimer = true
	s.counters.countSleep(began, s.wokenAt, 0)
}

// awaitStop blocks until a stop is reported in info, or the time until comes (EINTR); ok is false without an alarm.
func (s *Sleeper) awaitStop(until Moment, info *sigInfo) (e syscall.Errno, ok bool) {
	began := Now()
	s.ownQueue.begin()
	e, slept, ok := s.alarm.wait(until, info)
	if !ok {
		return 0, false
	}
	s.wokenAt = Now()
	s.wokenByTimer = slept && e == unix.EINTR
	s.queuedInWait = s.ownQueue.end()
	s.counters.countSleep(began, s.wokenAt, s.queuedInWait)
	return e, true
}

func (s *Sleeper) endSleeps() {
	s.alarm.close()
	s.watchdog.close()
	s.ownQueue.close()
}

// ownQueue measures how long the tracer's own thread is queued for a CPU, at ordinary priority: a stop that ends its
// sleep lasts longer by that time. The kernel counts it from the wake-up to the arrival on a CPU (kernel/sched/stats.h,
// sched_info_enqueue, sched_info_arrive), with the time in which a CPU quota throttles the thread, but without that in
// which this process is stopped (SIGSTOP) or frozen, and without steal time.
type ownQueue struct {
	files    *procmem.ThreadFiles // nil means not measured
	ordinary bool                 // always at ordinary priority
	watchdog *watchdog            // nil means none
	before   time.Duration
	ok       bool // before is valid
}

func (q *ownQueue) open(tid int, ordinary bool, w *watchdog) {
	if ordinary || w != nil {
		q.files = procmem.OpenThread(os.Getpid(), tid, procmem.NewFDBudget(0))
		q.ordinary, q.watchdog = ordinary, w
		if ordinary { // else once the watchdog has lowered it: at real-time priority no path below /proc is opened
			_, _ = q.files.SchedStat() // opens the file
		}
	}
}

func (q *ownQueue) begin() {
	q.ok = false
	if q.files != nil && (q.ordinary || q.watchdog.hasLowered()) {
		q.before, q.ok = q.read()
	}
}

// end returns the time since begin; at real-time priority 0.
func (q *ownQueue) end() time.Duration {
	if !q.ok {
		return 0
	}
	after, ok := q.read()
	if !ok {
		return 0
	}
	return after - q.before
}

func (q *ownQueue) read() (queued time.Duration, ok bool) {
	procmem.CountWait() // its call depends on the machine's load
	sched, err := q.files.SchedStat()
	return time.Duration(sched.RunQueue), err == nil
}

func (q *ownQueue) close() {
	if q.files != nil {
		q.files.Close()
	}
}
