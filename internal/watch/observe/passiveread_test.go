// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"bufio"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"prywalk/frames"
	"prywalk/internal/base/errs"
	"prywalk/internal/base/sample"
	"prywalk/internal/code/loadedcode"
	"prywalk/internal/code/symbols"
	"prywalk/internal/host/process"
	"prywalk/internal/host/procmem"
	"prywalk/internal/testtargets"
	"prywalk/ptrace"
)

var variants = map[string][]string{
	"O0":    {"-O0"},
	"O2fp":  {"-O2", "-fno-omit-frame-pointer"},
	"nocfi": {"-O0", "-g0", "-fno-asynchronous-unwind-tables", "-fno-unwind-tables"}, // -g: they would be in .debug_frame
}

type sleeper struct {
	t      *testing.T
	cmd    *exec.Cmd
	proc   *loadedcode.Process
	thread *Thread
	call   string
	in     io.Writer
	lines  *bufio.Scanner
	names  *symbols.Namer
	walker frames.Walker
}

func startSleeper(t *testing.T, variant, call, shape string) *sleeper {
	t.Helper()
	if process.HostArch() != frames.X86_64 {
		t.Skip("needs x86-64: a passive read lacks other registers on arm64, see integration/arm64")
	}
	exe, err := testtargets.Compile("sleepers.c", variants[variant]...)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, call, shape)
	in, out := testtargets.Talk(t, cmd)
	s := &sleeper{t: t, cmd: cmd, call: call, in: in, lines: bufio.NewScanner(out), names: symbols.NewNamer()}
	t.Cleanup(func() { s.names.Close() })
	s.line("ready")
	if s.proc, err = loadedcode.Open(cmd.Process.Pid); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.proc.Close() })
	tids, err := s.proc.Threads(nil)
	if err != nil || len(tids) != 2 {
		t.Fatalf("threads %v, %v", tids, err)
	}
	// Thread ids may wrap around.
	other := slices.IndexFunc(tids, func(tid int) bool { return tid != s.proc.PID })
	s.thread = NewThread(s.proc.PID, tids[other], nil)
	t.Cleanup(s.thread.Close)
	s.untilAsleep(0)
	return s
}

func (s *sleeper) line(want string) {
	s.t.Helper()
	hung := time.AfterFunc(testtargets.Patience, func() { _ = s.cmd.Process.Kill() })
	defer hung.Stop()
	if !s.lines.Scan() || s.lines.Text() != want {
		s.t.Fatalf("the target says %q, want %q", s.lines.Text(), want)
	}
}

func (s *sleeper) runs() uint64 {
	sched, err := s.thread.files.SchedStat()
	if err != nil {
		s.t.Fatal(err)
	}
	return sched.Runs
}

// untilAsleep waits for a sleep after a run count, and returns that of the sleep. It is read before the call: a later
// one may be that of a thread that has just been woken.
func (s *sleeper) untilAsleep(after uint64) (runs uint64) {
	s.t.Helper()
	testtargets.Eventually(s.t, "the thread sleeps in "+s.call, func() bool {
		runs = s.runs()
		call := s.syscall()
		name := process.HostSyscallName(call.Nr)
		return !call.Running && runs > after && (strings.Contains(name, kernelNames[s.call]) || isRestart(call.Nr))
	})
	return runs
}

func (s *sleeper) syscall() procmem.SyscallInfo {
	call, err := s.thread.files.Syscall()
	if err != nil {
		s.t.Fatal(err)
	}
	return call
}

// hasWoken reports whether the thread is awake, or has run since a run count.
func (s *sleeper) hasWoken(since uint64) bool { return s.syscall().Running || s.runs() != since }

var kernelNames = map[string]string{"nanosleep": "nanosleep", "read": "read", "futex": "futex",
	"epoll": "epoll_", "epoll50": "epoll_", "recv": "recv"}

func (s *sleeper) wake() {
	s.t.Helper()
	before := s.runs()
	if _, err := s.in.Write([]byte{'x'}); err != nil {
		s.t.Fatal(err)
	}
	s.untilAsleep(before)
}

const unchanged = ^How(0)

type outcome struct {
	how      How
	state    sample.State
	stop     frames.StopReason
	chain    []string // the program's own functions, innermost first
	methods  []frames.Method
	proven   int
	recalled bool
}

func (s *sleeper) walk(raw *RawSample) outcome {
	if end := s.proc.StackEnd(raw.Mem.Stack.Addr); end != 0 {
		raw.Mem.StackEnd = end
	}
	o := outcome{how: raw.How, state: raw.State, recalled: raw.registers.recalled}
	w := &s.walker
	for w.Init(s.proc.Space(), &raw.Regs, &raw.Mem); w.Next(); {
		f := w.Frame()
		if f.Module == nil || f.Module != s.proc.Main() && f.Module.Name != s.proc.Main().Name {
			continue
		}
		named := s.names.Frames(f.Module, s.proc.PID, f.LookupPC(process.HostArch())-f.Module.Bias, nil)
		if len(named) > 0 {
			o.chain = append(o.chain, named[len(named)-1].Name)
			o.methods = append(o.methods, f.Method)
		}
	}
	o.stop, o.proven = w.StopReason(), w.FoundRegs()
	switch {
	case o.stop.Complete():
		s.thread.feedback.copies.hints.size.root = w.Frame().SP
		s.thread.feedback.handOver()
	case o.stop == frames.StopUnproven:
		s.thread.feedback.StopForRegister(raw)
	}
	return o
}

func (s *sleeper) samples(n int, mode Mode, opts ptrace.Options) (got []outcome) {
	s.t.Helper()
	procmem.OnOSThread(func() {
		ctl := ptrace.NewController(opts)
		defer ctl.Close()
		pool := NewPool(4)
		observer := New(ctl, pool, mode)
		for len(got) < n {
			runs := s.untilAsleep(0)
			o, raw, err := observer.Begin(s.thread)
			if err == nil && o == Pending {
				_, raw, err = observer.Stops.Next(ptrace.Now().Add(60e9))
			}
			switch {
			case errors.Is(err, errs.Running) && s.hasWoken(runs):
			case err != nil:
				s.t.Error(err)
				return
			case o == Unchanged:
				got = append(got, outcome{how: unchanged})
			default:
				got = append(got, s.walk(raw))
				pool.Put(raw)
			}
		}
	})
	return got
}

var chains = map[string][]string{
	"plain":     {"inner", "middle", "outer", "start"},
	"stale":     {"inner", "middle", "outer", "start"},
	"same":      {"inner", "start"},
	"large":     {"fixed", "large", "start"},
	"recursive": {"again", "again", "again", "again", "start"},
	"pointer":   {"inner", "by_pointer", "start"},
}

// With -O2, inner takes by_pointer's place.
func chainOf(variant, shape string) []string {
	if variant == "O2fp" && shape == "pointer" {
		return []string{"inner", "start"}
	}
	return chains[shape]
}

func eachVariant(t *testing.T, test func(t *testing.T, variant string)) {
	for variant := range variants {
		t.Run(variant, func(t *testing.T) { test(t, variant) })
	}
}

func TestSleeperBelowVariableArraysIsWalkedWithoutAStop(t *testing.T) {
	eachVariant(t, func(t *testing.T, variant string) {
		for _, call := range []string{"nanosleep", "epoll", "read", "futex"} {
			s := startSleeper(t, variant, call, "plain")
			got := s.samples(5, ModeAuto, ptrace.Options{})
			first := got[0]
			if first.how != ByPassiveRead || !first.stop.Complete() || !slices.Equal(first.chain, chains["plain"]) {
				t.Errorf("%s: %+v", call, first)
			}
			if first := got[0]; first.proven != 1 || first.methods[1] != frames.MethodFP {
				t.Errorf("%s: %d registers found, methods %v", call, first.proven, first.methods)
			}
			for _, o := range got[1:] {
				if o.how != unchanged {
					t.Errorf("%s: observed again: %+v", call, o)
				}
			}
		}
	})
}

func TestSleeperWhoseRegisterIsInDoubtIsStoppedOnceInASleep(t *testing.T) {
	eachVariant(t, func(t *testing.T, variant string) {
		for _, call := range []string{"nanosleep", "epoll", "read", "futex"} {
			s := startSleeper(t, variant, call, "same")
			for sleep := range 3 {
				got := s.samples(6, ModeAuto, ptrace.Options{})
				// The arrays grow with each sleep, so each is at another place.
				if o := got[0]; o.how != ByPassiveRead || o.stop != frames.StopUnproven {
					t.Errorf("%s, sleep %d: first %+v", call, sleep, o)
				}
				if o := got[1]; o.how != ByStop || o.state != sample.Sleeping {
					t.Errorf("%s, sleep %d: then %+v", call, sleep, o)
				}
				for i, o := range got[1:] {
					if i > 0 && o.how == ByStop {
						t.Errorf("%s, sleep %d: stopped again", call, sleep)
					}
					if o.how != unchanged && (!o.stop.Complete() || !slices.Equal(o.chain, chainOf(variant, "same"))) {
						t.Errorf("%s, sleep %d, observation %d: %+v", call, sleep, i+1, o)
					}
				}
				if last := got[len(got)-1]; last.how != unchanged {
					t.Errorf("%s: not unchanged at last: %+v", call, last)
				}
				if call == "nanosleep" {
					break
				}
				s.wake()
			}
		}
	})
}

func TestSleeperWithATimeoutThatAStopWouldStretchIsNeverStopped(t *testing.T) {
	eachVariant(t, func(t *testing.T, variant string) {
		for _, shape := range []string{"plain", "same"} {
			s := startSleeper(t, variant, "epoll50", shape)
			complete := 0
			for range 5 {
				for _, o := range s.samples(8, ModeAuto, ptrace.Options{}) {
					if o.how == ByStop && o.state == sample.Sleeping {
						t.Error("stopped in its sleep")
					}
					if o.how == ByPassiveRead && o.stop.Complete() {
						complete++
					}
				}
				s.line("timeout")
			}
			if shape == "plain" && complete == 0 {
				t.Error("no complete stack")
			}
		}
	})
}

func TestFramesThatEndedAreNotTakenForLiveOnes(t *testing.T) {
	eachVariant(t, func(t *testing.T, variant string) {
		for shape := range chains {
			for _, call := range []string{"epoll50", "nanosleep", "recv"} {
				s := startSleeper(t, variant, call, shape)
				for _, o := range s.samples(3, ModePassiveOnly, ptrace.Options{}) {
					if o.stop.Complete() && !slices.Equal(o.chain, chainOf(variant, shape)) {
						t.Errorf("%s, %s: %v is accepted", shape, call, o.chain)
					}
				}
			}
		}
	})
}

func TestNoSleeperIsStoppedWhereThatIsNotAllowed(t *testing.T) {
	for _, c := range []struct {
		mode Mode
		opts ptrace.Options
	}{{ModePassiveOnly, ptrace.Options{}}, {ModeAuto, ptrace.Options{ReadOnly: true}}} {
		s := startSleeper(t, "O0", "nanosleep", "same")
		before := s.runs()
		got := s.samples(6, c.mode, c.opts)
		if s.runs() != before {
			t.Errorf("%v, %+v: it ran", c.mode, c.opts)
		}
		for i, o := range got {
			if i == 0 && o.stop != frames.StopUnproven || i > 0 && o.how != unchanged {
				t.Errorf("%v, %+v: observation %d: %+v", c.mode, c.opts, i, o)
			}
		}
	}
}

func TestSleeperWhoseCopyLackedSomethingIsReadAgainWhereStopsAreNotAllowed(t *testing.T) {
	for _, c := range []struct {
		mode Mode
		opts ptrace.Options
	}{{ModePassiveOnly, ptrace.Options{}}, {ModeAuto, ptrace.Options{ReadOnly: true}}} {
		s := startSleeper(t, "O0", "nanosleep", "plain")
		before := s.runs()
		s.samples(2, c.mode, c.opts)
		s.thread.Feedback().AddOtherStack(s.thread.feedback.copies.hints.size.root)
		got := s.samples(2, c.mode, c.opts)
		if got[0].how != ByPassiveRead || got[1].how != unchanged || s.runs() != before {
			t.Errorf("%v, %+v: %v, then %v; %d runs", c.mode, c.opts, got[0].how, got[1].how, s.runs()-before)
		}
	}
}

func TestRegistersOfAStopAreRecalledInTheSameCall(t *testing.T) {
	s := startSleeper(t, "O0", "futex", "recursive")
	got := s.samples(3, ModeAuto, ptrace.Options{})
	// A thread that is detached before it has left the CPU sleeps on without another run.
	if got[1].how != ByStop || got[2].how != unchanged && !got[2].recalled {
		t.Errorf("%+v", got)
	}
	for range 3 {
		s.wake()
		got := s.samples(4, ModeAuto, ptrace.Options{})
		for _, o := range got {
			if o.how != unchanged && (!o.stop.Complete() || !slices.Equal(o.chain, chains["recursive"])) {
				t.Errorf("%+v", o)
			}
		}
		if first := got[0]; first.how != ByPassiveRead || !first.recalled {
			t.Errorf("%+v", first)
		}
	}
}
