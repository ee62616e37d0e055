// SPDX-License-Identifier: Apache-2.0

package look

import (
	"bufio"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"prywalk/frames"
	"prywalk/internal/code"
	"prywalk/internal/process"
	"prywalk/internal/procmem"
	"prywalk/internal/sample"
	"prywalk/internal/symbols"
	"prywalk/internal/testtargets"
	"prywalk/ptrace"
)

// variants are the ways in which sleepers.c of package testtargets is compiled.
var variants = map[string][]string{
	"O0":    {"-O0"},
	"O2fp":  {"-O2", "-fno-omit-frame-pointer"},
	"nocfi": {"-O0", "-g0", "-fno-asynchronous-unwind-tables", "-fno-unwind-tables"}, // -g: they would be in .debug_frame
}

// sleeper is a thread of sleepers.c that sleeps.
type sleeper struct {
	t      *testing.T
	proc   *code.Process
	thread *Thread
	call   string
	in     io.Writer
	lines  *bufio.Scanner
	names  *symbols.Namer
	walker frames.Walker
}

// startSleeper runs the program and waits until its thread sleeps in the call.
func startSleeper(t *testing.T, variant, call, shape string) *sleeper {
	t.Helper()
	if hostArch() != frames.X86_64 {
		t.Skip("what a peek lacks is another thing there: integration/arm64")
	}
	exe, err := testtargets.Compile("sleepers.c", variants[variant]...)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, call, shape)
	in, out := testtargets.Talk(t, cmd)
	s := &sleeper{t: t, call: call, in: in, lines: bufio.NewScanner(out), names: symbols.NewNamer()}
	t.Cleanup(func() { s.names.Close() })
	s.line("ready")
	if s.proc, err = code.Open(cmd.Process.Pid); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.proc.Close() })
	tids, err := s.proc.Threads(nil)
	if err != nil || len(tids) != 2 {
		t.Fatalf("threads %v, %v", tids, err)
	}
	// where numbers begin anew, it may be the lower one
	other := slices.IndexFunc(tids, func(tid int) bool { return tid != s.proc.PID })
	s.thread = NewThread(s.proc.PID, tids[other], nil)
	t.Cleanup(s.thread.Close)
	s.untilAsleep(0)
	return s
}

func (s *sleeper) line(want string) {
	s.t.Helper()
	if !s.lines.Scan() || s.lines.Text() != want {
		s.t.Fatalf("the target says %q, want %q", s.lines.Text(), want)
	}
}

// runs gives the thread's count of arrivals on a processor.
func (s *sleeper) runs() uint64 {
	sched, err := s.thread.files.SchedStat()
	if err != nil {
		s.t.Fatal(err)
	}
	return sched.Runs
}

// untilAsleep waits until the thread sleeps in its call and has arrived more often than
// that on a processor.
func (s *sleeper) untilAsleep(runs uint64) {
	s.t.Helper()
	for end := time.Now().Add(4 * time.Minute); time.Now().Before(end); time.Sleep(100 * time.Microsecond) {
		call, err := s.thread.files.Syscall()
		if err != nil {
			s.t.Fatal(err)
		}
		name := process.SyscallName(hostArch(), call.Nr)
		if !call.Running && s.runs() > runs && (strings.Contains(name, kernelNames[s.call]) || isRestart(call.Nr)) {
			return
		}
	}
	s.t.Fatal("the thread does not sleep")
}

// kernelNames are parts of what the kernel calls the calls of the program.
var kernelNames = map[string]string{"nanosleep": "nanosleep", "read": "read", "futex": "futex",
	"epoll": "epoll_", "epoll50": "epoll_", "recv": "recv"}

// wake ends the sleep and waits for the next one.
func (s *sleeper) wake() {
	s.t.Helper()
	before := s.runs()
	if _, err := s.in.Write([]byte{'x'}); err != nil {
		s.t.Fatal(err)
	}
	s.untilAsleep(before)
}

// outcome is what a look came to.
type outcome struct {
	how      How // ByReuse: no shot
	state    sample.State
	stop     frames.StopReason
	chain    []string // the program's own functions, innermost first
	methods  []frames.Method
	proven   int
	recalled bool
}

// walk walks a shot as the sampler does, and tells the thread what it came to.
func (s *sleeper) walk(shot *Shot) outcome {
	if end := s.proc.StackEnd(shot.Mem.Stack.Addr); end != 0 {
		shot.Mem.StackEnd = end
	}
	o := outcome{how: shot.How, state: shot.State, recalled: shot.recalled}
	w := &s.walker
	for w.Init(s.proc.Space(), &shot.Regs, &shot.Mem); w.Next(); {
		f := w.Frame()
		if f.Module == nil || f.Module != s.proc.Main() && f.Module.Name != s.proc.Main().Name {
			continue
		}
		named := s.names.Frames(f.Module, s.proc.PID, f.Lookup(hostArch())-f.Module.Bias, nil)
		if len(named) > 0 {
			o.chain = append(o.chain, named[len(named)-1].Name)
			o.methods = append(o.methods, f.Method)
		}
	}
	o.stop, o.proven = w.StopReason(), w.Hypotheses()
	switch {
	case o.stop.Complete():
		s.thread.walks.needs.Root = w.Frame().SP
		s.thread.walks.handOver()
	case o.stop == frames.StopUnproven:
		s.thread.walks.Unproven(shot)
	}
	return o
}

// looks looks n times. Before each it waits until the thread sleeps, so that one that is
// frozen is frozen in its sleep.
func (s *sleeper) looks(n int, rung Rung, opts ptrace.Options) (got []outcome) {
	s.t.Helper()
	OnThread(func() {
		ctl := ptrace.NewController(opts)
		defer ctl.Close()
		pool := NewPool(4)
		l := New(ctl, pool, rung)
		for range n {
			s.untilAsleep(0)
			o, shot, err := l.Begin(s.thread)
			if err == nil && o == Pending {
				l.Collect(procmem.Now()+60e9, func(_ *Thread, c *Shot, e error) { shot, err = c, e })
			}
			switch {
			case err != nil:
				s.t.Error(err)
			case o == Reused:
				got = append(got, outcome{how: ByReuse})
			default:
				got = append(got, s.walk(shot))
				pool.Put(shot)
			}
		}
	})
	return got
}

// chains are the functions that the thread sleeps in, by what lies in their arrays.
var chains = map[string][]string{
	"plain":     {"inner", "middle", "outer", "start"},
	"stale":     {"inner", "middle", "outer", "start"},
	"same":      {"inner", "start"},
	"recursive": {"again", "again", "again", "again", "start"},
	"pointer":   {"inner", "by_pointer", "start"},
}

// chainOf gives the chain of a variant: with -O2, inner takes by_pointer's place.
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
			got := s.looks(5, Ladder, ptrace.Options{})
			if first := got[0]; first.how != ByPeek || !first.stop.Complete() || !slices.Equal(first.chain, chains["plain"]) {
				t.Errorf("%s: %+v", call, first)
			}
			// What the hypothesis led to says that it is a frame pointer that was proven.
			if first := got[0]; first.proven != 1 || first.methods[1] != frames.MethodFP {
				t.Errorf("%s: %d hypotheses, methods %v", call, first.proven, first.methods)
			}
			for _, o := range got[1:] {
				if o.how != ByReuse {
					t.Errorf("%s: looked at again: %+v", call, o)
				}
			}
		}
	})
}

func TestSleeperWhoseRegisterIsInDoubtIsFrozenOnceInASleep(t *testing.T) {
	eachVariant(t, func(t *testing.T, variant string) {
		for _, call := range []string{"nanosleep", "epoll", "read", "futex"} {
			s := startSleeper(t, variant, call, "same")
			for sleep := range 3 {
				got := s.looks(6, Ladder, ptrace.Options{})
				// The arrays grow from sleep to sleep, so that each is in another place.
				if o := got[0]; o.how != ByPeek || o.stop != frames.StopUnproven {
					t.Errorf("%s, sleep %d: first %+v", call, sleep, o)
				}
				if o := got[1]; o.how != ByFreeze || o.state != sample.Sleeping {
					t.Errorf("%s, sleep %d: then %+v", call, sleep, o)
				}
				for i, o := range got[1:] {
					if i > 0 && o.how == ByFreeze {
						t.Errorf("%s, sleep %d: frozen again", call, sleep)
					}
					if o.how != ByReuse && (!o.stop.Complete() || !slices.Equal(o.chain, chainOf(variant, "same"))) {
						t.Errorf("%s, sleep %d, look %d: %+v", call, sleep, i+1, o)
					}
				}
				if last := got[len(got)-1]; last.how != ByReuse {
					t.Errorf("%s: not reused at last: %+v", call, last)
				}
				if call == "nanosleep" {
					break // nothing wakes it
				}
				s.wake()
			}
		}
	})
}

func TestSleeperWithATimeoutThatAStopWouldStretchIsNeverFrozen(t *testing.T) {
	eachVariant(t, func(t *testing.T, variant string) {
		for _, shape := range []string{"plain", "same"} {
			s := startSleeper(t, variant, "epoll50", shape)
			complete := 0
			for range 5 {
				for _, o := range s.looks(8, Ladder, ptrace.Options{}) {
					if o.how == ByFreeze && o.state == sample.Sleeping {
						t.Error("frozen in its sleep")
					}
					if o.how == ByPeek && o.stop.Complete() {
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
				for _, o := range s.looks(3, OnlyPeek, ptrace.Options{}) {
					if o.stop.Complete() && !slices.Equal(o.chain, chainOf(variant, shape)) {
						t.Errorf("%s, %s: %v is believed", shape, call, o.chain)
					}
				}
			}
		}
	})
}

func TestNoSleeperIsFrozenWhereThatIsNotAllowed(t *testing.T) {
	for _, c := range []struct {
		rung Rung
		opts ptrace.Options
	}{{OnlyPeek, ptrace.Options{}}, {Ladder, ptrace.Options{ReadOnly: true}}} {
		s := startSleeper(t, "O0", "nanosleep", "same")
		before := s.runs()
		got := s.looks(6, c.rung, c.opts)
		if s.runs() != before {
			t.Errorf("%v, %+v: it ran", c.rung, c.opts)
		}
		for i, o := range got {
			if i == 0 && o.stop != frames.StopUnproven || i > 0 && o.how != ByReuse {
				t.Errorf("%v, %+v: look %d: %+v", c.rung, c.opts, i, o)
			}
		}
	}
}

func TestRegistersOfAFreezeAreRecalledInTheSameCall(t *testing.T) {
	s := startSleeper(t, "O0", "futex", "recursive")
	got := s.looks(3, Ladder, ptrace.Options{})
	// A thread that is let go before it has left the processor sleeps on without having run.
	if got[1].how != ByFreeze || got[2].how != ByReuse && !got[2].recalled {
		t.Errorf("%+v", got)
	}
	for range 3 {
		s.wake()
		got := s.looks(4, Ladder, ptrace.Options{})
		for _, o := range got {
			if o.how != ByReuse && (!o.stop.Complete() || !slices.Equal(o.chain, chains["recursive"])) {
				t.Errorf("%+v", o)
			}
		}
		if first := got[0]; first.how != ByPeek || !first.recalled {
			t.Errorf("%+v", first)
		}
	}
}
