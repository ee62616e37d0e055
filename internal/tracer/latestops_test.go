// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"prywalk/internal/look"
	"prywalk/internal/ownruntime"
	"prywalk/internal/procmem"
	"prywalk/internal/schedule"
	"prywalk/internal/testtargets"
	"prywalk/ptrace"
)

// attendWithin is how long a thread that stops late may stay stopped before a test fails. It takes milliseconds.
const attendWithin = 20 * time.Second

// childOf gives the child of a process, once it has one.
func childOf(t *testing.T, pid int) (child int) {
	t.Helper()
	testtargets.Eventually(t, "it has a child", func() bool {
		text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/task/" + strconv.Itoa(pid) + "/children")
		if err != nil {
			t.Skip("the kernel does not tell of children: ", err)
		}
		child, _ = strconv.Atoi(strings.TrimSpace(string(text)))
		return child != 0 && state(pid) == "D"
	})
	return child
}

// state gives the letter of a thread's state, "" if there is none.
func state(tid int) string {
	var st procmem.Stat
	if procmem.ReadStat(tid, &st) != nil {
		return ""
	}
	return string(st.State)
}

// free reports whether nobody traces a thread.
func free(tid int) bool {
	var st procmem.Status
	return procmem.ReadStatus(tid, &st) == nil && st.TracerPid == 0 && state(tid) != "t"
}

// late is a tracer that has given up a look at a vfork parent, which stops when its child is killed.
type late struct {
	c     *Tracer
	ctl   *ptrace.Controller
	until int64         // CLOCK_MONOTONIC ns: when the test has failed
	freed chan struct{} // closed when the thread has been let go of, or the test has failed
}

// onLate calls f on the tracer's thread; the child is killed while f waits. f must not come back before the thread
// has been let go of.
func onLate(t *testing.T, hold bool, f func(*late)) {
	t.Helper()
	defer ownruntime.KeepQuiet()() // a collection would stop all of this process until the tracer has waited in vain
	pid, _ := testtargets.Threads(t, "vforks")
	child := childOf(t, pid)
	look.OnThread(func() {
		ctl := ptrace.NewController(ptrace.Options{NoCollector: true})
		defer ctl.Close()
		c := newTracer(Options{Freq: 99})
		c.looker = look.New(ctl, c.Pool, look.Ladder)
		defer c.looker.Close()
		given, err := ctl.Begin(pid)
		if err != nil {
			t.Error(err)
			return
		}
		ctl.Cancel(given)
		if free(pid) || c.looker.Pending() != 1 {
			t.Error("the look was not given up: the test shows nothing")
		}
		l := &late{c: c, ctl: ctl, until: procmem.Now() + int64(attendWithin), freed: make(chan struct{})}
		if hold {
			c.control.Hold()
		}
		go l.release(t, pid, child)
		f(l)
		if !free(pid) {
			t.Error("stopped by a look that was given up, when the tracer's wait is over")
		}
		<-l.freed
	})
}

// release kills the child while the tracer waits.
func (l *late) release(t *testing.T, parent, child int) {
	defer close(l.freed)
	time.Sleep(50 * time.Millisecond) // so that it waits already, most of the time
	for l.c.control.held.Load() && !l.c.control.Held() {
		time.Sleep(time.Millisecond)
	}
	if err := unix.Kill(child, unix.SIGKILL); err != nil {
		t.Error(err)
	}
	for end := time.Now().Add(attendWithin); !free(parent) || state(parent) == "D"; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Errorf("not let go of: state %s", state(parent))
			return
		}
	}
}

// TestThreadsThatStopLateAreLetGoOfInEveryWait: whatever the tracer waits for.
func TestThreadsThatStopLateAreLetGoOfInEveryWait(t *testing.T) {
	for name, wait := range map[string]func(*late){
		"the end of a tick":  func(l *late) { l.c.attend(l.until) },
		"a tick":             func(l *late) { l.c.tick(procmem.Now(), l.until) },
		"a tick without any": func(l *late) { l.c.Garbage.Ask(); l.c.tick(procmem.Now(), l.until) },
		"a tick withheld": func(l *late) {
			l.c.budget = schedule.NewBudget(99, 0.01, 1)
			l.c.budget.Froze(1e9)
			l.c.tickWithinBudget(procmem.Now(), l.until)
		},
		"a pause":      func(l *late) { l.breathe() },
		"a collection": func(l *late) { l.c.Garbage.Await(l.freed) },
		"room in the ring": func(l *late) {
			for l.c.out.ring.Room() {
				l.c.out.ring.Send(nil)
			}
			go func() { <-l.freed; <-l.c.out.ring.Batches() }()
			l.c.send(nil)
		},
		"a hold": func(l *late) {
			go func() { <-l.freed; l.c.control.Resume() }()
			l.c.hold(t.Context(), l.ctl)
		},
	} {
		t.Run(name, func(t *testing.T) {
			onLate(t, name == "a hold", wait)
		})
	}
}

// breathe makes the pauses of a tick until the thread is let go of.
func (l *late) breathe() {
	for procmem.Now() < l.until {
		l.c.breathe(procmem.Now() + 1e6)
		select {
		case <-l.freed:
			return
		default:
		}
	}
}

// TestThreadsThatStopAfterTheRecordingAreNotStopped: its OS thread has ended.
func TestThreadsThatStopAfterTheRecordingAreNotStopped(t *testing.T) {
	pid, _ := testtargets.Threads(t, "vforks")
	child := childOf(t, pid)
	look.OnThread(func() {
		ctl := ptrace.NewController(ptrace.Options{})
		given, err := ctl.Begin(pid)
		if err != nil {
			t.Error(err)
			return
		}
		ctl.Cancel(given)
		if left := ctl.Close(); left != 1 {
			t.Errorf("%d left: the test shows nothing", left)
		}
	})
	testtargets.Eventually(t, "let go of", func() bool { return free(pid) })
	if err := unix.Kill(child, unix.SIGKILL); err != nil {
		t.Error(err)
	}
	testtargets.Eventually(t, "it goes on", func() bool { return state(pid) == "S" })
}
