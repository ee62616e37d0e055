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

	"prywalk/internal/procmem"
)

// withAlarm needs a real-time priority, no collection (it would wait for the raw sleeps) and a second P.
func withAlarm(t *testing.T, body func(c *Controller)) {
	t.Helper()
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + 1))
	missing := false
	with(t, Options{NoCollector: true}, func(c *Controller) {
		if missing = !c.alarm.ok; !missing {
			body(c)
		}
	})
	if missing {
		t.Skip("no real-time priority here (CAP_SYS_NICE): waits sleep in short pieces")
	}
}

func bindHere(tid int) error {
	var here unix.CPUSet
	here.Set(procmem.CPU())
	return errors.Join(unix.SchedSetaffinity(tid, &here), unix.SchedSetaffinity(0, &here))
}

func TestWaitSleepsUntilThreadThatWaitsForThisProcessorHasStopped(t *testing.T) {
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
			if !ok || s.Detach < s.Running || s.Running < s.Interrupt {
				t.Errorf("round %d: %+v", round, s)
				return
			}
		}
	})
}

func TestWaitForThreadThatDoesNotStopEndsAtTheDeadline(t *testing.T) {
	p := start(t, "sleep")
	withAlarm(t, func(c *Controller) {
		l := c.seizeOnly(t, p.tid)
		for _, d := range []time.Duration{time.Millisecond, 3 * blockMax} {
			until := procmem.Now() + int64(d)
			if got := c.WaitAny(until); got != nil || procmem.Now() < until {
				t.Errorf("WaitAny(%v) gave %p, %v before the deadline", d, got, time.Duration(until-procmem.Now()))
			}
		}
		ptrace(unix.PTRACE_INTERRUPT, p.tid, 0, 0)
		c.WaitAny(soon())
		c.Cancel(l)
	})
}

// The signal comes between the last reading of the clock and the wait.
func TestWaitWhoseAlarmHasBeenMissedEndsAllTheSame(t *testing.T) {
	p := start(t, "sleep")
	withAlarm(t, func(c *Controller) {
		l := c.seizeOnly(t, p.tid)
		until := procmem.Now() + 300e6 // time to begin the wait
		c.alarm.ringsAt = until
		var info sigInfo
		if e, _, ok := c.alarm.wait(until, &info); e != unix.EINTR || !ok {
			t.Errorf("%v %v", e, ok)
		}
		if procmem.Now() < until+overslept {
			t.Error("it ended by something else")
		}
		ptrace(unix.PTRACE_INTERRUPT, p.tid, 0, 0)
		c.WaitAny(soon())
		c.Cancel(l)
	})
}

func TestSleepLastsUntilItsMoment(t *testing.T) {
	withAlarm(t, func(c *Controller) {
		until := procmem.Now() + 1e6
		c.alarm.set(until)
		for procmem.Now() < until+1e6 {
		}
		for round := range 20 {
			at := procmem.Now() + 20e6
			for procmem.Now() < at { // the old signal may end the first sleep
				c.SleepUntil(at)
			}
			if c.alarm.ringsAt != 0 {
				t.Errorf("round %d: it is still set to %d", round, c.alarm.ringsAt)
			}
		}
	})
}

func TestRequestsOfTheRuntimeDoNotEndASleep(t *testing.T) {
	withAlarm(t, func(c *Controller) {
		at := procmem.Now() + 50e6
		unix.Tgkill(os.Getpid(), c.tid, syscall.SIGURG)
		go unix.Tgkill(os.Getpid(), c.tid, syscall.SIGURG)
		if c.SleepUntil(at); procmem.Now() < at {
			t.Error("the sleep ended before its moment")
		}
	})
}

func TestCloseGivesTheSignalsBack(t *testing.T) {
	withAlarm(t, func(c *Controller) {
		during, _ := maskSignals(unix.SIG_BLOCK, 0)
		c.Close()
		after, _ := maskSignals(unix.SIG_BLOCK, 0)
		if mine := setOf(alarmSignal, syscall.SIGURG); during&mine != mine || after&mine != 0 {
			t.Errorf("blocked %x, and %x after Close", during, after)
		}
	})
}

func TestAlarmIsSetAgainAfterAMove(t *testing.T) {
	withAlarm(t, func(c *Controller) {
		at := procmem.Now() + 20e6
		c.alarm.set(at)
		timerSet(c.alarm.id, at+60e9) // as if it were set on another processor
		c.Moved()
		if c.SleepUntil(at); procmem.Now() > at+30e9 {
			t.Error("it was not set again")
		}
	})
}

func TestWhatEndedTheLastSleep(t *testing.T) {
	withAlarm(t, func(c *Controller) {
		if c.ByTimer() {
			t.Error("it has not slept yet")
		}
		c.SleepUntil(procmem.Now() - 1)
		if c.ByTimer() {
			t.Error("the moment had passed")
		}
		// On a busy machine the moment may have passed before the sleep begins.
		byTimer := func(sleep func(until int64)) bool {
			for range 20 {
				if sleep(procmem.Now() + 1e6); c.ByTimer() {
					return true
				}
			}
			return false
		}
		for name, sleep := range map[string]func(until int64){"SleepUntil": c.SleepUntil, "Nap": c.Nap} {
			if !byTimer(sleep) {
				t.Error(name + " was not ended by the timer")
			}
			if c.ForgetWake(); c.ByTimer() {
				t.Error("that was long ago")
			}
		}
		if !byTimer(c.SleepUntil) {
			t.Error("SleepUntil was not ended by the timer")
		}
		if c.Moved(); c.ByTimer() {
			t.Error("it was moved")
		}
	})
}

func TestAWaitThatAStopEndsIsNotTheTimers(t *testing.T) {
	p := start(t, "spin")
	withAlarm(t, func(c *Controller) {
		if err := bindHere(p.tid); err != nil {
			t.Error(err)
			return
		}
		c.Nap(procmem.Now() + 1e5)
		l, err := c.Begin(p.tid)
		if err != nil {
			t.Error(err)
			return
		}
		l.MarkQueued()
		for c.WaitAny(procmem.Now()+1e9) == nil {
			if l.state != traceePending {
				break
			}
		}
		if c.ByTimer() {
			t.Error("a stop was taken for the timer")
		}
		c.Cancel(l)
	})
}
