// SPDX-License-Identifier: Apache-2.0

package ptrace

import (
	"math"
	"runtime"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"prywalk/frames"
	"prywalk/internal/host/procmem"
	"prywalk/internal/testtargets"
)

func stopMany(t *testing.T, opts Options, tid, n int) (st Stats) {
	with(t, opts, func(c *Controller) {
		var s Stop
		for i := range n {
			if err := c.StopThread(tid, soon(), &Request{}, &s); err != nil {
				t.Errorf("stop %d: %v", i, err)
				return
			}
		}
		st = c.Stats()
	})
	return st
}

func (p *target) asleep(t *testing.T) (call procmem.SyscallInfo, runs uint64) {
	t.Helper()
	files := procmem.OpenThread(p.PID, p.tid, nil)
	eventually(t, "asleep", func() bool {
		before, err := files.SchedStat()
		if err != nil {
			t.Fatal(err)
		}
		call, err = files.Syscall()
		after, _ := files.SchedStat()
		runs = after.Runs
		return err == nil && !call.Running && call.Nr >= 0 && before.Runs == runs && state(p.tid) == 'S'
	})
	return call, runs
}

func (p *target) stopAsleep(t *testing.T, c *Controller) (s Stop) {
	t.Helper()
	call, runs := p.asleep(t)
	l, err := c.Begin(p.tid)
	if err != nil {
		t.Fatal(err)
	}
	l.SetSleeping(&call, runs)
	c.await(l)
	if err := c.Finish(l, &Request{}, &s); err != nil {
		t.Error(err)
	}
	return s
}

func (p *target) saw(t *testing.T, broken uint64) counts {
	t.Helper()
	n := p.counts(t)
	if n.eintr != 0 || broken != 0 {
		t.Errorf("%d broken calls are counted, the program counts %+v; want no EINTR", broken, n)
	}
	return n
}

func TestBrokenWaitsAreRestartedUnseen(t *testing.T) {
	for _, mode := range []string{"epoll", "pwait"} {
		p := start(t, mode, "-1")
		var st Stats
		with(t, Options{}, func(c *Controller) {
			for range 100 {
				if s := p.stopAsleep(t, c); !s.Repair.Restarted {
					t.Errorf("%s: the call is not restarted: %+v", mode, s)
				}
			}
			st = c.Stats()
		})
		if n := p.saw(t, st.Broken); n.wakeups != 0 {
			t.Errorf("%s: the program counts %+v, want no wakeups", mode, n)
		}
	}
}

func TestWaitsAreRestartedByRapidStops(t *testing.T) {
	p := start(t, "epoll", "-1")
	st := stopMany(t, Options{}, p.tid, 500)
	if n := p.saw(t, st.Broken); n.wakeups != 0 {
		t.Errorf("the program counts %+v, want no wakeups", n)
	}
}

func TestThreadsJustEnteringAWaitSeeNoInterruption(t *testing.T) {
	for _, timeout := range []string{"0", "1"} {
		p := start(t, "epoll", timeout)
		st := stopMany(t, Options{}, p.tid, 2000)
		eventually(t, "time-outs", func() bool { return p.counts(t).wakeups > 0 })
		p.saw(t, st.Broken)
	}
}

func TestReadOnlySamplesBreakWaitsAndCountThem(t *testing.T) {
	p := start(t, "epoll", "-1")
	eventually(t, "asleep", func() bool { return state(p.tid) == 'S' })
	with(t, Options{ReadOnly: true}, func(c *Controller) {
		for range 20 {
			var s Stop
			if err := c.StopThread(p.tid, soon(), &Request{}, &s); err != nil || s.Repair.Restarted {
				t.Errorf("stop: %v, %+v", err, s)
			}
			eventually(t, "asleep", func() bool { return state(p.tid) == 'S' })
		}
		if n := p.counts(t); n.eintr != c.Stats().Broken || n.eintr == 0 {
			t.Errorf("the program counts %+v, the tracer %+v; want the same EINTR", n, c.Stats())
		}
	})
}

func TestRealSignalStillInterruptsARestartedWait(t *testing.T) {
	p := start(t, "epoll", "-1")
	const rounds = 100
	with(t, Options{}, func(c *Controller) {
		for i := range rounds {
			eventually(t, "asleep", func() bool { return state(p.tid) == 'S' })
			l, err := c.Begin(p.tid)
			if err != nil {
				t.Error(err)
				return
			}
			c.await(l)
			if err := unix.Tgkill(p.PID, p.tid, unix.SIGUSR1); err != nil {
				t.Error(err)
			}
			var s Stop
			// On arm64 a restart would hide the signal.
			if err := c.Finish(l, &Request{}, &s); err != nil || s.Repair.Restarted != (runtime.GOARCH == "amd64") {
				t.Errorf("stop: %v, %+v", err, s)
			}
			eventually(t, "EINTR", func() bool { return p.counts(t).eintr == uint64(i+1) })
		}
	})
	if n := p.counts(t); n.handled != rounds {
		t.Errorf("the program counts %+v, want %d handled signals", n, rounds)
	}
}

// On arm64 it is unknown whether a preempted thread is in the same sleep.
func TestIgnoredSignalDuringAStopInterruptsNothing(t *testing.T) {
	p := start(t, "epoll", "-1")
	left := uint64(0)
	with(t, Options{}, func(c *Controller) {
		defer func() { left = c.Stats().Broken }()
		for range 100 {
			call, runs := p.asleep(t)
			l := c.seizeOnly(t, p.tid)
			l.SetSleeping(&call, runs)
			unix.Tgkill(p.PID, p.tid, unix.SIGUSR2)
			c.await(l)
			var s Stop
			if err := c.Finish(l, &Request{}, &s); err != nil || s.Kind != KindSignal || s.Signal != int(unix.SIGUSR2) {
				t.Errorf("stop: %v, %+v", err, s)
			}
		}
	})
	if n := p.counts(t); n.eintr > left || n.eintr != 0 && runtime.GOARCH != "arm64" || n.handled != 0 {
		t.Errorf("the program counts %+v; %d calls are counted as broken", n, left)
	}
}

func TestIgnoredStopSignalDuringAStopInterruptsNothing(t *testing.T) {
	for _, sig := range []syscall.Signal{unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU} {
		p := start(t, "epoll", "-1")
		left := uint64(0)
		with(t, Options{}, func(c *Controller) {
			defer func() { left = c.Stats().Broken }()
			for range 30 {
				call, runs := p.asleep(t)
				l := c.seizeOnly(t, p.tid)
				l.SetSleeping(&call, runs)
				unix.Tgkill(p.PID, p.tid, sig)
				c.await(l)
				var s Stop
				if err := c.Finish(l, &Request{}, &s); err != nil || s.Kind != KindSignal || s.Signal != int(sig) {
					t.Errorf("stop: %v, %+v", err, s)
				}
			}
		})
		if n := p.counts(t); n.eintr > left || n.eintr != 0 && runtime.GOARCH != "arm64" || state(p.tid) == 'T' {
			t.Errorf("%v: the program counts %+v; %d calls are counted as broken", sig, n, left)
		}
	}
}

func (c *Controller) seizeOnly(t *testing.T, tid int) *Attachment {
	t.Helper()
	if e := ptrace(unix.PTRACE_SEIZE, tid, 0, 0); e != 0 {
		t.Fatal(e)
	}
	l := c.stopper.attachments.freeSlot()
	*l = Attachment{tid: tid, state: attachmentPending, reinterruptAt: math.MaxInt64}
	c.stopper.attachments.live++
	return l
}

func TestSignalThatComesFirstIsPassedOnWithItsInfo(t *testing.T) {
	p := start(t, "spin")
	const rounds = 200
	with(t, Options{}, func(c *Controller) {
		for range rounds {
			l := c.seizeOnly(t, p.tid)
			queueSignal(t, p.PID, 3)
			c.await(l)
			// A further interrupt does not outlast the detach.
			if e := ptrace(unix.PTRACE_INTERRUPT, p.tid, 0, 0); e != 0 {
				t.Error(e)
			}
			var s Stop
			if err := c.Finish(l, &Request{}, &s); err != nil || s.Kind != KindSignal {
				t.Errorf("stop: %v, %+v", err, s)
			}
		}
		if st := c.Stats(); st.SignalStops != rounds {
			t.Errorf("stats %+v, want %d signals", st, rounds)
		}
	})
	eventually(t, "all signals are handled", func() bool { return p.counts(t).handled == rounds })
	if n := p.counts(t); n.queued != rounds || n.sum != 3*rounds || state(p.tid) == 't' {
		t.Errorf("the program counts %+v, want %d signals with their values", n, rounds)
	}
}

func TestSignalInFlightIsDeliveredWhenTheTracerIsGone(t *testing.T) {
	p := start(t, "spin")
	procmem.OnOSThread(func() {
		c := NewController(Options{})
		l := c.seizeOnly(t, p.tid)
		queueSignal(t, p.PID, 5)
		c.await(l)
	})
	eventually(t, "delivered", func() bool { return p.counts(t).sum == 5 })
	eventually(t, "running", func() bool { return state(p.tid) == 'R' && tracer(p.tid) == 0 })
}

func TestNoSignalOfAStormIsLost(t *testing.T) {
	p := start(t, "spin")
	const storm = 100_000
	sent := make(chan bool)
	go func() {
		defer close(sent)
		for range storm {
			queueSignal(t, p.PID, 1)
		}
	}()
	var st Stats
	with(t, Options{}, func(c *Controller) {
		for {
			select {
			case <-sent:
				st = c.Stats()
				return
			default:
			}
			var s Stop
			if err := c.StopThread(p.tid, soon(), &Request{}, &s); err != nil {
				t.Error(err)
				return
			}
			nanosleep(50_000)
		}
	})
	eventually(t, "all signals are handled", func() bool { return p.counts(t).handled >= storm })
	if n := p.counts(t); n.handled != storm || n.queued != storm || n.sum != storm {
		t.Errorf("the program counts %+v, want %d signals", n, storm)
	}
	t.Logf("%+v", st)
}

func queueSignal(t *testing.T, pid int, value int32) {
	var e syscall.Errno
	if !testtargets.Comes(func() bool { e = sigqueue(pid, value); return e != syscall.EAGAIN }) || e != 0 {
		t.Error(e)
	}
}

func TestStopSignalInAWaitGivesEINTRAsWithoutATracer(t *testing.T) {
	interrupted := func(traced bool) uint64 {
		p := start(t, "epoll", "-1")
		eventually(t, "asleep", func() bool { return state(p.tid) == 'S' })
		p.Signal(syscall.SIGSTOP)
		eventually(t, "stopped", func() bool { return state(p.tid) == 'T' && state(p.PID) == 'T' })
		if traced {
			if st := stopMany(t, Options{}, p.tid, 3); st.GroupStops != 3 || st.Restarted != 0 {
				t.Errorf("stats %+v, want 3 group stops, no restart", st)
			}
			eventually(t, "stopped", func() bool { return state(p.tid) == 'T' })
		}
		p.Signal(syscall.SIGCONT)
		eventually(t, "asleep", func() bool { return state(p.tid) == 'S' })
		return p.counts(t).eintr
	}
	if with, without := interrupted(true), interrupted(false); with != without {
		t.Errorf("EINTR %d times with stops, %d without", with, without)
	}
}

func TestConnectAndCloseAreNotRestarted(t *testing.T) {
	for _, c := range []struct {
		arch  frames.Arch
		nr    int64
		flags uint64
		want  bool
	}{
		{frames.X86_64, 232, 0, true}, {frames.X86_64, 42, 0, false}, {frames.X86_64, 3, 0, false},
		{frames.X86_64, 44, msgFastOpen, false}, {frames.X86_64, 44, 0, true}, {frames.X86_64, -1, 0, false},
		{frames.ARM64, 22, 0, true}, {frames.ARM64, 203, 0, false}, {frames.ARM64, 57, 0, false},
		{frames.ARM64, 206, msgFastOpen, false}, {frames.ArchUnknown, 0, 0, false},
	} {
		if got := Restartable(c.arch, c.nr, c.flags); got != c.want {
			t.Errorf("Restartable(%v, %d, %#x) = %v, want %v", c.arch, c.nr, c.flags, got, c.want)
		}
	}
}

func TestInterruptedCallsAreRepeatedOnlyWithoutADoubleEffect(t *testing.T) {
	const creat = syscall.O_CREAT | syscall.O_WRONLY
	for _, c := range []struct {
		name          string
		nr            int64
		args          [3]uint64
		eagain        bool
		again, goesOn bool
	}{
		{"bpf, loading a program", 321, [3]uint64{bpfProgLoad}, true, true, false},
		{"bpf, running a program", 321, [3]uint64{10}, false, false, false},
		{"bpf, another command", 321, [3]uint64{1}, true, false, false},
		{"fallocate", 285, [3]uint64{3, 0}, false, true, false},
		{"fallocate, keeping the size", 285, [3]uint64{3, 1}, false, true, false},
		{"fallocate, punching a hole", 285, [3]uint64{3, 8}, false, false, false},
		{"fallocate, inserting a range", 285, [3]uint64{3, 0x20}, false, false, false},
		{"swapoff", 168, [3]uint64{}, false, true, true},
		{"ioctl, running a virtual machine", 16, [3]uint64{5, 0xae80}, false, true, true},
		{"ioctl, another", 16, [3]uint64{5, 0x5421}, false, false, false},
		{"stat", 4, [3]uint64{}, false, true, false},
		{"openat", 257, [3]uint64{0, 0, syscall.O_RDWR}, false, true, false},
		{"openat, a new file", 257, [3]uint64{0, 0, creat}, false, false, false},
		{"open, a new file", 2, [3]uint64{0, creat}, false, false, false},
		{"read", 0, [3]uint64{}, true, false, false},
		{"mkdir", 83, [3]uint64{}, false, false, false},
		{"connect", 42, [3]uint64{}, false, false, false},
	} {
		again, goesOn := RestartableAborted(frames.X86_64, c.nr, c.args, c.eagain)
		if again != c.again || goesOn != c.goesOn {
			t.Errorf("%s: repeated %v, continued %v; want %v and %v", c.name, again, goesOn, c.again, c.goesOn)
		}
		if again, _ := RestartableAborted(frames.ARM64, c.nr, c.args, c.eagain); again {
			t.Errorf("%s: repeated on arm64", c.name)
		}
	}
}

func TestCallsThatTheKernelRestartsAreSeenTwice(t *testing.T) {
	for result := resultERESTARTSYS; result >= resultLowestRestart; result-- {
		for nr, want := range map[int64]repairKind{
			83: repairReportedTwice, 258: repairReportedTwice, 4: repairReportedTwice, 0: repairNone,
			202: repairNone} {
			if got := repairKindX86(&call{nr: nr, result: result}); got != want {
				t.Errorf("call %d, result %d: repair %d, want %d", nr, int64(result), got, want)
			}
		}
	}
	if got := repairKindX86(&call{nr: 83, result: 0}); got != repairNone {
		t.Errorf("a call that succeeded: repair %d, want none", got)
	}
}
