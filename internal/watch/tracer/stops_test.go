// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"prywalk/internal/host/procmem"
	"prywalk/internal/host/selfruntime"
	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/bounded"
	"prywalk/internal/watch/observe"
	"prywalk/internal/watch/target"
	"prywalk/ptrace"
)

const attendWithin = 20 * time.Second

func childOf(t *testing.T, pid int) (child int) {
	t.Helper()
	testtargets.Eventually(t, "it has a child", func() bool {
		text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/task/" + strconv.Itoa(pid) + "/children")
		if err != nil {
			t.Skipf("needs /proc/PID/task/TID/children: a kernel with CONFIG_PROC_CHILDREN (%v)", err)
		}
		child, _ = strconv.Atoi(strings.TrimSpace(string(text)))
		return child != 0 && stateOf(pid) == "D"
	})
	return child
}

func stateOf(tid int) string {
	var st procmem.Stat
	if procmem.ReadStat(tid, &st) != nil {
		return ""
	}
	return string(st.State)
}

func free(tid int) bool {
	var st procmem.Status
	return procmem.ReadStatus(tid, &st) == nil && st.TracerPid == 0 && stateOf(tid) != "t"
}

// late has cancelled a stop of a vfork parent, which stops when its child is killed.
type late struct {
	c     *Tracer
	until ptrace.Moment // CLOCK_MONOTONIC ns
	freed chan struct{} // the thread is detached, or the test has failed
}

// The child is killed while f waits. f must not return before the detach.
func onLate(t *testing.T, hold bool, f func(*late)) {
	t.Helper()
	onLateAfter(t, hold, func() {}, f)
}

// The child is killed after before, which runs while f waits.
func onLateAfter(t *testing.T, hold bool, before func(), f func(*late)) {
	t.Helper()
	defer selfruntime.DisableAutoGC(false)() // a collection would stop this process until the time-out
	pid, _ := testtargets.Threads(t, "vforks")
	child := childOf(t, pid)
	procmem.OnOSThread(func() {
		ctl := ptrace.NewController(ptrace.Options{NoGC: true})
		defer ctl.Close()
		c := newTracer(target.SamplingOptions{Freq: 99})
		c.shared.Observer = observe.New(ctl, c.shared.Pool, observe.ModeAuto)
		defer c.shared.Observer.Close()
		given, err := ctl.Begin(pid)
		if err != nil {
			t.Error(err)
			return
		}
		ctl.Cancel(given)
		if free(pid) || c.shared.Observer.Stops.Attached() != 1 {
			t.Error("the stop was not cancelled: the test shows nothing")
		}
		l := &late{c: c, until: ptrace.Now().Add(attendWithin), freed: make(chan struct{})}
		if hold {
			c.control.Hold()
		}
		go l.release(t, pid, child, before)
		f(l)
		if !free(pid) {
			t.Error("stopped by an interrupt of a cancelled stop, when the tracer's wait is over")
		}
		bounded.Receive(t, "the thread is freed", l.freed)
	})
}

func (l *late) release(t *testing.T, parent, child int, before func()) {
	defer close(l.freed)
	time.Sleep(50 * time.Millisecond) // no state shows that f waits; before it does, the same is right
	testtargets.Comes(func() bool { return !l.c.control.holdAsked.Load() || l.c.control.Held() })
	before()
	if err := unix.Kill(child, unix.SIGKILL); err != nil {
		t.Error(err)
	}
	if !testtargets.Comes(func() bool { return free(parent) && stateOf(parent) != "D" }) {
		t.Errorf("not let go of: state %s", stateOf(parent))
	}
}

func TestThreadsThatStopLateAreLetGoOfInEveryWait(t *testing.T) {
	sleepers, _ := testtargets.Threads(t, "sleepers", "3")
	for name, wait := range map[string]func(*late){
		"a listing":          func(l *late) { l.list(opened(t, sleepers)) },
		"the end of a tick":  func(l *late) { l.c.stops.finishUntil(l.until) },
		"a tick":             func(l *late) { l.c.tick(ptrace.Now(), l.until) },
		"a tick without any": func(l *late) { l.c.shared.Garbage.Request(); l.c.tick(ptrace.Now(), l.until) },
		"a tick withheld": func(l *late) {
			l.c.pace.budget = newOverheadBudget(99, 0.01, 1)
			l.c.pace.budget.addStop(1e9)
			l.c.makeTick(ptrace.Now(), l.until)
		},
		"a pause":      func(l *late) { l.breathe() },
		"a collection": func(l *late) { l.c.shared.Garbage.Await(l.freed) },
		"room in the queue": func(l *late) {
			for l.c.shared.Queue.HasRoom() {
				l.c.shared.Queue.Send(nil)
			}
			go func() { <-l.freed; <-l.c.shared.Queue.Batches() }()
			l.c.backlog.handOverAll()
		},
		"a hold": func(l *late) {
			go func() { <-l.freed; l.c.control.Resume() }()
			l.c.hold(t.Context())
		},
	} {
		t.Run(name, func(t *testing.T) {
			onLate(t, name == "a hold", wait)
		})
	}
}

func (l *late) list(shared *target.Process) {
	l.c.tracked.trackProcess(shared)
	for p := l.c.tracked.procs[0]; ptrace.Now() < l.until; {
		p.Threads = target.NewThreadList(false, "")
		l.c.listings.refresh(p, ptrace.Now())
		for _, th := range p.Threads.All() {
			th.Observed.Close()
		}
		select {
		case <-l.freed:
			return
		default:
		}
	}
}

func (l *late) breathe() {
	for ptrace.Now() < l.until {
		l.c.stops.pause(ptrace.Now().Add(1e6))
		select {
		case <-l.freed:
			return
		default:
		}
	}
}

func TestThreadsThatStopAfterTheRecordingAreNotStopped(t *testing.T) {
	pid, _ := testtargets.Threads(t, "vforks")
	child := childOf(t, pid)
	procmem.OnOSThread(func() {
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
	testtargets.Eventually(t, "it goes on", func() bool { return stateOf(pid) == "S" })
}
