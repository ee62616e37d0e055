// SPDX-License-Identifier: Apache-2.0

package ptrace

import (
	"errors"
	"os"
	"runtime"
	"runtime/debug"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"prywalk/internal/host/procmem"
)

func withAlarm(t *testing.T, body func(c *Controller)) {
	t.Helper()
	withAlarmOf(t, Options{NoGC: true}, body)
}

// A garbage collection would wait for raw sleeps.
func withAlarmOf(t *testing.T, options Options, body func(c *Controller)) {
	t.Helper()
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + 1))
	missing := false
	with(t, options, func(c *Controller) {
		if missing = !c.Sleeper.alarm.created; !missing {
			body(c)
		}
	})
	if missing {
		t.Skip("needs a real-time priority: sudo make test")
	}
}

func bindHere(tid int) error {
	var here unix.CPUSet
	here.Set(procmem.CPU())
	return errors.Join(unix.SchedSetaffinity(tid, &here), unix.SchedSetaffinity(0, &here))
}

func TestWaitSleepsSoThatAThreadQueuedOnThisCPUStops(t *testing.T) {
	p := start(t, "spin")
	withAlarm(t, func(c *Controller) {
		if err := bindHere(p.tid); err != nil {
			t.Error(err)
			return
		}
		for round := range 200 {
			l, err := c.Begin(p.tid)
			if err != nil {
				t.Error(err)
				return
			}
			l.MarkQueued()
			s, ok := c.waitSpinning(t, l, p)
			if !ok || s.Times.DetachedAt < s.Times.LastRunningAt || s.Times.LastRunningAt < s.Times.InterruptedAt {
				t.Errorf("round %d: times out of order: %+v", round, s)
				return
			}
		}
	})
}

func TestWaitForThreadThatDoesNotStopEndsAtTheDeadline(t *testing.T) {
	p := start(t, "sleep")
	withAlarm(t, func(c *Controller) {
		l := c.seizeOnly(t, p.tid)
		for _, d := range []time.Duration{time.Millisecond, 3 * maxBlock} {
			until := Now().Add(d)
			if got := c.WaitAny(until); got != nil || Now() < until {
				t.Errorf("WaitAny(%v) returns %p, %v before the deadline", d, got, until.Sub(Now()))
			}
		}
		ptrace(unix.PTRACE_INTERRUPT, p.tid, 0, 0)
		c.WaitAny(soon())
		c.Cancel(l)
	})
}

func TestWaitWithAMissedAlarmEnds(t *testing.T) {
	p := start(t, "sleep")
	withAlarm(t, func(c *Controller) {
		l := c.seizeOnly(t, p.tid)
		until := Now().Add(300e6)
		c.Sleeper.alarm.expiresAt = until
		var info sigInfo
		if e, _, ok := c.Sleeper.alarm.wait(until, &info); e != unix.EINTR || !ok {
			t.Errorf("wait ends with %v, %v; want EINTR", e, ok)
		}
		if Now() < until.Add(overdueAfter) {
			t.Error("the wait ended before the second alarm")
		}
		ptrace(unix.PTRACE_INTERRUPT, p.tid, 0, 0)
		c.WaitAny(soon())
		c.Cancel(l)
	})
}

func TestSleepLastsUntilItsMoment(t *testing.T) {
	withAlarm(t, func(c *Controller) {
		until := Now().Add(1e6)
		c.Sleeper.alarm.set(until)
		for Now() < until.Add(1e6) {
		}
		oldSignal := true // it may end the first sleep, and that of an overdue alarm the next one
		for round := range 20 {
			at := Now().Add(20e6)
			if c.Sleeper.SleepUntil(at); Now() < at && !oldSignal {
				t.Errorf("round %d: the sleep ended %d ns too early", round, at.Sub(Now()))
			}
			oldSignal = Now() > at.Add(overdueAfter)
			if c.Sleeper.alarm.expiresAt == at { // an earlier one stays where the moment had passed before the sleep
				t.Errorf("round %d: the alarm is still set to %d", round, at)
			}
		}
	})
}

func TestSignalsOfTheGoRuntimeDoNotEndASleep(t *testing.T) {
	withAlarm(t, func(c *Controller) {
		at := Now().Add(50e6)
		unix.Tgkill(os.Getpid(), c.tid, syscall.SIGURG)
		go unix.Tgkill(os.Getpid(), c.tid, syscall.SIGURG)
		if c.Sleeper.SleepUntil(at); Now() < at {
			t.Error("the sleep ended too early")
		}
	})
}

func TestCloseUnblocksTheSignals(t *testing.T) {
	withAlarm(t, func(c *Controller) {
		during, _ := maskSignals(unix.SIG_BLOCK, 0)
		c.Close()
		after, _ := maskSignals(unix.SIG_BLOCK, 0)
		if mine := procmem.SetOf(alarmSignal, syscall.SIGURG); during&mine != mine || after&mine != 0 {
			t.Errorf("blocked signals %x, after Close %x; want %x and none of them", during, after, mine)
		}
	})
}

func TestAlarmIsRearmedAfterAMove(t *testing.T) {
	withAlarm(t, func(c *Controller) {
		at := Now().Add(20e6)
		c.Sleeper.alarm.set(at)
		c.Sleeper.alarm.timer.SetAt(int64(at.Add(60e9)))
		c.Sleeper.ForgetAlarm()
		if c.Sleeper.SleepUntil(at); Now() > at.Add(30e9) {
			t.Error("the alarm was not set again")
		}
	})
}

func TestWokenByTimerIsTrueAfterASleepThatTheTimerEnded(t *testing.T) {
	withAlarm(t, func(c *Controller) {
		if c.Sleeper.WokenByTimer() {
			t.Error("WokenByTimer is true before the first sleep")
		}
		c.Sleeper.SleepUntil(Now().Add(-1))
		if c.Sleeper.WokenByTimer() {
			t.Error("WokenByTimer is true after a sleep to a time in the past")
		}
		// On a busy machine the time may have passed before the sleep begins.
		byTimer := func(sleep func(until Moment)) bool {
			for range 20 {
				if sleep(Now().Add(1e6)); c.Sleeper.WokenByTimer() {
					return true
				}
			}
			return false
		}
		for name, sleep := range map[string]func(until Moment){
			"SleepUntil": c.Sleeper.SleepUntil, "NanosleepUntil": c.Sleeper.NanosleepUntil,
		} {
			if !byTimer(sleep) {
				t.Error(name + ": WokenByTimer is false")
			}
			if c.Sleeper.ClearWokenByTimer(); c.Sleeper.WokenByTimer() {
				t.Error("WokenByTimer is true after ClearWokenByTimer")
			}
		}
		if !byTimer(c.Sleeper.SleepUntil) {
			t.Error("SleepUntil: WokenByTimer is false")
		}
		if c.Sleeper.ForgetAlarm(); c.Sleeper.WokenByTimer() {
			t.Error("WokenByTimer is true after ForgetAlarm")
		}
	})
}

// A stop that is found at a poll, after the alarm or without a sleep, has not ended one: then there is another try.
func TestWokenByTimerIsFalseAfterAWaitThatAStopEnded(t *testing.T) {
	p := start(t, "spin")
	withAlarm(t, func(c *Controller) {
		if err := bindHere(p.tid); err != nil {
			t.Error(err)
			return
		}
		for range 20 {
			c.Sleeper.NanosleepUntil(Now().Add(1e5))
			l, err := c.Begin(p.tid)
			if err != nil {
				t.Error(err)
				return
			}
			l.MarkQueued()
			for c.WaitAny(Now().Add(1e9)) == nil {
				if l.state != attachmentPending {
					break
				}
			}
			byTimer := c.Sleeper.WokenByTimer()
			c.Cancel(l)
			if !byTimer {
				return
			}
		}
		t.Error("WokenByTimer is true after each wait that a stop ended")
	})
}
