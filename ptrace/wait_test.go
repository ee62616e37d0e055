// SPDX-License-Identifier: Apache-2.0

package ptrace

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"prywalk/internal/host/procmem"
)

func (c *Controller) waitSpinning(t *testing.T, l *Attachment, p *target) (s Stop, ok bool) {
	t.Helper()
	if got := c.WaitAny(soon()); got != l || l.kind != KindInterrupt {
		t.Errorf("WaitAny returns %p, want %p", got, l)
		return s, false
	}
	if err := c.Finish(l, &Request{}, &s); err != nil || s.Regs.PC < p.lo || s.Regs.PC >= p.hi {
		t.Errorf("Finish: %v, %+v", err, s)
		return s, false
	}
	return s, true
}

func TestStopReapedByAnotherWaitIsFound(t *testing.T) {
	p := start(t, "spin")
	with(t, Options{}, func(c *Controller) {
		for range 20 {
			l, err := c.Begin(p.tid)
			if err != nil {
				t.Error(err)
				return
			}
			var info sigInfo
			eventually(t, "reported", func() bool {
				return waitid(unix.P_PID, p.tid, unix.WSTOPPED|unix.WALL, &info) == 0 && info.pid != 0
			})
			if _, ok := c.waitSpinning(t, l, p); !ok {
				return
			}
		}
		if st := c.Stats(); st.LostReports != 20 {
			t.Errorf("stats %+v, want 20 stops reaped by another wait", st)
		}
	})
}

func TestSpinAnyWaitsOnlyWhileAStopIsNear(t *testing.T) {
	p := start(t, "sleep")
	with(t, Options{}, func(c *Controller) {
		l := c.seizeOnly(t, p.tid)
		for _, w := range []struct {
			what             string
			deadline, spin   time.Duration // after the call
			queued           bool
			notBefore, until time.Duration // of the return, after the call
		}{
			{"no deadline", 0, patience, false, 0, patience},
			{"a near deadline", 2e6, patience, false, 2e6, patience},
			{"the interrupt is long ago", patience, -1, false, 0, patience},
			{"the interrupt is recent", patience, 2e6, false, 2e6, patience},
			{"the thread is queued", patience, patience, true, 0, patience},
		} {
			l.queued = w.queued
			began := Now()
			c.spinUntil = began.Add(w.spin)
			deadline := began.Add(w.deadline)
			if w.deadline == 0 {
				deadline = 0
			}
			got := c.SpinAny(deadline)
			if took := Now().Sub(began); got != nil || took < w.notBefore || took >= w.until {
				t.Errorf("%s: %p after %d ns; want nothing, after %d to %d ns", w.what, got, took, w.notBefore, w.until)
			}
		}
		l.queued = false
		c.interrupt(t, p.tid)
		c.spinUntil = soon()
		if got := c.SpinAny(soon()); got != l || l.kind != KindInterrupt {
			t.Errorf("SpinAny returns %p, want %p", got, l)
		}
		if got := c.SpinAny(0); got != nil {
			t.Errorf("SpinAny returns %p again", got)
		}
		c.Cancel(l)
	})
}

func TestFinishBeforeTheStopIsRefused(t *testing.T) {
	p := start(t, "sleep")
	with(t, Options{}, func(c *Controller) {
		l := c.seizeOnly(t, p.tid)
		if err := c.Finish(l, &Request{}, &Stop{}); err != ErrNotStopped {
			t.Errorf("Finish before the stop: %v", err)
		}
		if got := c.WaitAny(0); got != nil {
			t.Errorf("WaitAny returns %+v before the stop", *got)
		}
		if e := ptrace(unix.PTRACE_INTERRUPT, p.tid, 0, 0); e != 0 {
			t.Error(e)
		}
		if got := c.WaitAny(soon()); got != l {
			t.Errorf("WaitAny returns %p, want %p", got, l)
		}
		c.Cancel(l)
	})
	if tracer(p.tid) != 0 {
		t.Error("the thread is still traced")
	}
}

func TestCloseDetachesStoppedThreads(t *testing.T) {
	p := start(t, "spin")
	with(t, Options{}, func(c *Controller) {
		l, err := c.Begin(p.tid)
		if err != nil {
			t.Error(err)
			return
		}
		c.await(l)
		if left := c.Close(); left != 0 || tracer(p.tid) != 0 {
			t.Errorf("%d threads left, traced by %d; want 0 and not traced", left, tracer(p.tid))
		}
	})
}

func TestThreadWithANewIDAfterExecIsDetached(t *testing.T) {
	for i := range 10 {
		p := start(t, "exec")
		with(t, Options{}, func(c *Controller) {
			l := c.seizeOnly(t, p.tid)
			p.counts(t)
			eventually(t, "exec", func() bool { return tracer(p.PID) == c.tid })
			if i%2 == 0 {
				c.interrupt(t, p.PID)
			}
			if got := c.WaitAny(soon()); got != l || !l.Ended() {
				t.Errorf("WaitAny returns %p, want %p, ended", got, l)
				return
			}
			if err := c.Finish(l, &Request{}, &Stop{}); err != ErrGone {
				t.Errorf("Finish: %v", err)
			}
			if i%2 == 1 && c.Attached() != 1 {
				t.Errorf("%d pending, want 1", c.Attached())
			}
			if i%2 == 1 {
				c.interrupt(t, p.PID)
			}
			eventually(t, "detached", func() bool {
				c.WaitAny(0)
				return tracer(p.PID) == 0 && state(p.PID) != 't'
			})
		})
		if line, _ := p.line(); len(line) < 5 || line[:5] != "ready" {
			t.Errorf("after exec the target wrote %q, want ready", line)
		}
	}
}

// The exec waits until a thread of this tracer is reaped, the seizure for the exec, after which the seized thread has
// another ID.
func TestThreadSeizedDuringItsExecIsDetached(t *testing.T) {
	p := start(t, "exec", "1")
	tasks, err := procmem.OpenTasks(p.PID, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer tasks.Close()
	tids, err := tasks.List(nil)
	other := 0
	for _, tid := range tids {
		if tid != p.PID && tid != p.tid {
			other = tid
		}
	}
	if err != nil || other == 0 {
		t.Fatalf("threads %v, %v", tids, err)
	}
	with(t, Options{}, func(c *Controller) {
		if _, err := c.Begin(other); err != nil {
			t.Error(err)
			return
		}
		p.counts(t)
		eventually(t, "the exec waits for a thread to be reaped", func() bool { return state(other) == 'Z' })
		if _, err := c.Begin(p.tid); err != ErrGone {
			t.Errorf("%v, want %v", err, ErrGone)
		}
		eventually(t, "after the exec the process is not traced", func() bool {
			c.WaitAny(0)
			return tracer(p.PID) == 0 && state(p.PID) != 't'
		})
	})
	if line, _ := p.line(); len(line) < 5 || line[:5] != "ready" {
		t.Errorf("after exec the target wrote %q, want ready", line)
	}
}

func (c *Controller) interrupt(t *testing.T, tid int) {
	t.Helper()
	if e := ptrace(unix.PTRACE_INTERRUPT, tid, 0, 0); e != 0 {
		t.Error(e)
	}
}
