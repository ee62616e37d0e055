// SPDX-License-Identifier: Apache-2.0

package ptrace

import (
	"slices"
	"syscall"
	"testing"

	"prywalk/frames"
	"prywalk/internal/host/procmem"
)

func TestStopsOfASpinningThreadHaveItsRegistersAndStack(t *testing.T) {
	p := start(t, "spin")
	files := procmem.OpenThread(p.PID, p.tid, procmem.NewFDBudget(64))
	defer files.Close()
	files.SchedStat()
	with(t, Options{}, func(c *Controller) {
		req := Request{Stack: make([]byte, 4096), Files: files}
		var s Stop
		var cpu uint64
		for i := range 1000 {
			if err := c.StopThread(p.tid, soon(), &req, &s); err != nil {
				t.Errorf("stop %d: %v", i, err)
				return
			}
			if s.Regs.PC < p.lo || s.Regs.PC >= p.hi {
				t.Errorf("stop %d: pc %#x, want one in the text %#x–%#x", i, s.Regs.PC, p.lo, p.hi)
			}
			if s.Copy.StackLen == 0 || s.Copy.StackAddr != s.Regs.SP()-copiedBelowSP {
				t.Errorf("stop %d: %d bytes of stack at %#x, sp %#x", i, s.Copy.StackLen, s.Copy.StackAddr, s.Regs.SP())
			}
			if !s.SchedOK || s.Sched.CPU < cpu {
				t.Errorf("stop %d: clocks %+v, earlier than %d", i, s.Sched, cpu)
			}
			cpu = s.Sched.CPU
			if !(s.Times.InterruptedAt <= s.Times.StoppedAt && s.Times.StoppedAt <= s.Times.DetachedAt) || s.Kind == KindNone {
				t.Errorf("stop %d: times out of order, or no kind: %+v", i, s)
			}
		}
		if st := c.Stats(); st.Finished != 1000 || c.Attached() != 0 {
			t.Errorf("stats %+v, pending %d; want 1000 finished, none pending", st, c.Attached())
		}
	})
	if tracer(p.tid) != 0 {
		t.Error("the thread is still traced")
	}
}

func TestWaitAnyReturnsEachOfManyThreads(t *testing.T) {
	var ps []*target
	for range 8 {
		ps = append(ps, start(t, "spin"))
	}
	with(t, Options{}, func(c *Controller) {
		for range 20 {
			for i, p := range ps {
				l, err := c.Begin(p.tid)
				if err != nil {
					t.Error(err)
					return
				}
				l.Tag = uint64(i)
			}
			seen := make([]bool, len(ps))
			for c.Attached() > 0 {
				l := c.WaitAny(soon())
				if l == nil {
					t.Error("WaitAny returns nothing before the deadline")
					return
				}
				if ps[l.Tag].tid != l.tid || seen[l.Tag] {
					t.Errorf("tag %d for thread %d, a second time or another thread's", l.Tag, l.tid)
				}
				seen[l.Tag] = true
				var s Stop
				if err := c.Finish(l, &Request{}, &s); err != nil {
					t.Error(err)
				}
			}
			if slices.Contains(seen, false) {
				t.Errorf("threads returned: %v, want all", seen)
			}
		}
	})
}

func TestThreadsCanBeStoppedAtTheSameTime(t *testing.T) {
	ps := []*target{start(t, "spin"), start(t, "epoll", "1"), start(t, "epoll", "-1")}
	with(t, Options{}, func(c *Controller) {
		var held []*Attachment
		for _, p := range ps {
			if _, err := c.Begin(p.tid); err != nil {
				t.Error(err)
			}
		}
		for len(held) < len(ps) {
			l := c.WaitAny(soon())
			if l == nil {
				t.Error("WaitAny returns nothing before the deadline")
				return
			}
			held = append(held, l)
		}
		for _, p := range ps {
			if s := state(p.tid); s != 't' {
				t.Errorf("state %c of a stopped thread, want t", s)
			}
		}
		for _, l := range held {
			var s Stop
			if err := c.Finish(l, &Request{}, &s); err != nil {
				t.Error(err)
			}
		}
	})
	for _, p := range ps {
		eventually(t, "the threads run", func() bool { return state(p.tid) != 't' })
	}
}

func TestStoppedProcessIsReadAndStaysStopped(t *testing.T) {
	p := start(t, "spin")
	p.Signal(syscall.SIGSTOP)
	eventually(t, "stopped", func() bool { return state(p.tid) == 'T' })
	with(t, Options{}, func(c *Controller) {
		var s Stop
		for range 50 {
			if err := c.StopThread(p.tid, soon(), &Request{Stack: make([]byte, 256)}, &s); err != nil {
				t.Error(err)
				return
			}
			if s.Kind != KindGroup || s.Regs.PC < p.lo || s.Regs.PC >= p.hi || s.Copy.StackLen != 256 {
				t.Errorf("stop %+v; want a group stop with a pc in the text and 256 bytes", s)
			}
			eventually(t, "the process is stopped again", func() bool { return state(p.tid) == 'T' })
		}
	})
	p.Signal(syscall.SIGCONT)
	eventually(t, "running", func() bool { return state(p.tid) == 'R' })
}

func TestProcessStoppedByASignalDuringAStopIsStoppedAfterIt(t *testing.T) {
	p := start(t, "spin")
	with(t, Options{}, func(c *Controller) {
		for range 50 {
			l, err := c.Begin(p.tid)
			if err != nil {
				t.Error(err)
				return
			}
			p.Signal(syscall.SIGSTOP)
			c.await(l)
			var s Stop
			if err := c.Finish(l, &Request{}, &s); err != nil {
				t.Error(err)
			}
			eventually(t, "stopped", func() bool { return state(p.tid) == 'T' && state(p.PID) == 'T' })
			p.Signal(syscall.SIGCONT)
			eventually(t, "running", func() bool { return state(p.tid) == 'R' })
		}
	})
}

func TestOtherMemoryIsReadWhileStopped(t *testing.T) {
	p := start(t, "spin")
	with(t, Options{}, func(c *Controller) {
		regions := []frames.Region{{Bytes: make([]byte, 16)}}
		req := Request{Stack: make([]byte, 64), OtherMemory: textReader{}, Regions: regions}
		var s Stop
		if err := c.StopThread(p.tid, soon(), &req, &s); err != nil {
			t.Error(err)
			return
		}
		if s.Regions != 1 || req.Regions[0].Addr != s.Regs.PC || len(req.Regions[0].Bytes) != 16 {
			t.Errorf("%d regions %+v, want 16 bytes at the pc", s.Regions, req.Regions)
		}
	})
}

type textReader struct{ Wrapped }

func (textReader) Regions(regs *frames.Regs, rd *Reader, out []frames.Region) int {
	out[0].Addr = regs.PC
	out[0].Bytes = out[0].Bytes[:rd.Read(regs.PC, out[0].Bytes)]
	return 1
}

func TestPanicInOtherMemoryDetachesTheThread(t *testing.T) {
	p := start(t, "spin")
	with(t, Options{}, func(c *Controller) {
		defer func() {
			if recover() == nil {
				t.Error("the panic is not passed on")
			}
			if c.Attached() != 0 || tracer(p.tid) != 0 {
				t.Errorf("pending %d, traced by %d; want none and not traced", c.Attached(), tracer(p.tid))
			}
		}()
		c.StopThread(p.tid, soon(), &Request{OtherMemory: panicker{}}, &Stop{})
	})
}

type panicker struct{ Wrapped }

func (panicker) Regions(*frames.Regs, *Reader, []frames.Region) int { panic("on purpose") }

func TestCancelledStopIsDetached(t *testing.T) {
	p := start(t, "epoll", "0")
	with(t, Options{}, func(c *Controller) {
		for range 200 {
			l, err := c.Begin(p.tid)
			if err != nil {
				t.Error(err)
				return
			}
			c.Cancel(l)
			for c.Attached() > 0 {
				if l := c.WaitAny(soon()); l != nil {
					t.Errorf("WaitAny returns a cancelled Attachment: %+v", *l)
				}
			}
		}
	})
	if tracer(p.tid) != 0 || state(p.tid) == 't' {
		t.Error("the thread is still traced or stopped")
	}
	if n := p.counts(t); n.eintr != 0 {
		t.Errorf("%d calls were interrupted, want 0", n.eintr)
	}
}

func TestCancelledStopIsContinuedByTheNextBegin(t *testing.T) {
	p := start(t, "spin")
	p.Signal(syscall.SIGSTOP) // the thread does not stop in a call
	eventually(t, "stopped", func() bool { return state(p.tid) == 'T' })
	with(t, Options{MaxPending: 1}, func(c *Controller) {
		l, err := c.Begin(p.tid)
		if err != nil {
			t.Error(err)
			return
		}
		l.cancelled = true // as Cancel does
		again, err := c.Begin(p.tid)
		if err != nil || again != l {
			t.Errorf("second Begin: %p, %v; want %p", again, err, l)
			return
		}
		if _, err := c.Begin(p.tid); err != ErrPending {
			t.Errorf("third Begin: %v, want %v", err, ErrPending)
		}
		if _, err := c.Begin(p.PID); err != ErrBusy {
			t.Errorf("Begin beyond MaxPending: %v, want %v", err, ErrBusy)
		}
		if got := c.WaitAny(soon()); got != l {
			t.Errorf("WaitAny returns %p, want %p", got, l)
		}
		c.Cancel(l)
	})
}

func TestContinuedStopHasTheClocksOfItsOwnBegin(t *testing.T) {
	p := start(t, "spin")
	p.Signal(syscall.SIGSTOP)
	eventually(t, "stopped", func() bool { return state(p.tid) == 'T' })
	files := procmem.OpenThread(p.PID, p.tid, nil)
	read, err := files.SchedStat()
	if err != nil {
		t.Fatal(err)
	}
	first, given := SchedStat{CPU: 1, Runs: 1}, SchedStat{CPU: 2, Runs: 1}
	with(t, Options{}, func(c *Controller) {
		for _, b := range []struct {
			what  string
			begin func() (*Attachment, error)
			want  SchedStat
			ok    bool
		}{
			{"first", func() (*Attachment, error) { return c.BeginWithClocks(files, &first) }, first, true},
			{"given", func() (*Attachment, error) { return c.BeginWithClocks(files, &given) }, given, true},
			{"read", func() (*Attachment, error) { return c.BeginReadingClocks(files) }, read, true},
			{"none", func() (*Attachment, error) { return c.Begin(p.tid) }, SchedStat{}, false},
		} {
			l, err := b.begin()
			if err != nil {
				t.Errorf("%s: %v", b.what, err)
				return
			}
			// the interrupt lets the thread run for a moment
			if got, ok := l.ClocksBefore(); got.CPU < b.want.CPU || ok != b.ok {
				t.Errorf("%s: %+v, %v; want at least %+v, %v", b.what, got, ok, b.want, b.ok)
			}
			l.cancelled = true
		}
	})
}
