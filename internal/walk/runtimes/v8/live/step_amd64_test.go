// SPDX-License-Identifier: Apache-2.0

package live_test

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"prywalk/frames"
	"prywalk/internal/code/loadedcode"
	"prywalk/internal/host/procmem"
	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/observed"
	"prywalk/internal/walk/callstack"
	"prywalk/internal/walk/managed"
)

type stepped struct {
	p      *loadedcode.Process
	host   *observed.Host
	walker frames.Walker
	merger callstack.Merger
	said   []managed.Frame
	pcs    []frames.Addr // of the last stack
}

// steps is the number of instructions, or of copies, in each mode of each release.
func steps(usual int) int {
	if n, err := strconv.Atoi(os.Getenv("NODE_STEPS")); err == nil {
		return n
	}
	return usual
}

// eachMode runs the script, with at most one argument, in each mode of each release, and holds its first thread.
func eachMode(t *testing.T, script []string, modes map[string][]string, test func(t *testing.T, s *stepped)) {
	t.Helper()
	for version, exe := range chosen(t) {
		for mode, flags := range modes {
			if !testtargets.All() && mode != "default" {
				continue
			}
			if !takes(exe, flags) {
				continue
			}
			t.Run(version+"/"+mode, func(t *testing.T) {
				pid := start(t, exe, script[0], slices.Concat(flags, script[1:])...)
				warm(t, pid)
				runtime.LockOSThread() // ptrace is the thread's
				defer runtime.UnlockOSThread()
				p, err := loadedcode.Open(pid)
				if err != nil {
					t.Fatal(err)
				}
				defer p.Close()
				observed.Hold(t, pid)
				defer func() { _ = syscall.PtraceDetach(pid) }()
				test(t, &stepped{p: p, host: observed.NewHost(p)})
			})
		}
	}
}

const segment = 500

var shortChain = []string{"jschain.js", "short"}

// The first thread is single-stepped through all tiers, builtins and the collector. NODE_STEPS is the number of
// instructions per mode and release.
func TestEveryInstructionHasTheChainOfTheProgram(t *testing.T) {
	eachMode(t, shortChain, modes, func(t *testing.T, s *stepped) {
		var n stepCounts
		// While the collector moves objects, and at the entry of a function, some instructions have no name.
		for n.steps < steps(2*segment) || n.inChain == 0 && n.steps < 50*steps(2*segment) {
			s.runOn(t, inChain)
			for range segment {
				s.check(t, observed.Step(t, s.p.PID), &n)
			}
		}
		t.Logf("%d instructions, %d in the chain, %d frames, %d wrong, %d without a name, %d not walked to the end",
			n.steps, n.inChain, n.frames, n.wrong, n.lost, n.incomplete)
		if n.inChain == 0 {
			t.Errorf("of %d instructions none is in the chain; %d frames have no name", n.steps, n.lost)
		}
	})
}

func inChain(stack []call) bool {
	known, _ := checkChain(stack)
	return known > 0
}

// runOn runs the thread for up to 2 ms at a time, until arrived.
func (s *stepped) runOn(t *testing.T, arrived func(stack []call) bool) {
	t.Helper()
	for range 1000 {
		regs := s.run(t, time.Duration(rand.IntN(2000))*time.Microsecond)
		stack, complete := s.stack(regs)
		if arrived(stack) {
			return
		}
		if !complete {
			s.refresh(t)
		}
	}
	t.Error("the thread has not arrived")
}

func (s *stepped) run(t *testing.T, d time.Duration) *frames.Regs {
	t.Helper()
	if err := syscall.PtraceCont(s.p.PID, 0); err != nil {
		t.Fatal(err)
	}
	time.Sleep(d) // the subject: another moment of the program
	if err := syscall.Tgkill(s.p.PID, s.p.PID, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	return observed.WaitStop(t, s.p.PID)
}

func (s *stepped) refresh(t *testing.T) {
	t.Helper()
	if _, err := s.p.Refresh(); err != nil {
		t.Fatal(err)
	}
}

func warm(t *testing.T, pid int) {
	t.Helper()
	f := procmem.OpenThread(pid, pid, nil)
	defer f.Close()
	testtargets.Eventually(t, "half a second of processor time", func() bool {
		now, err := f.SchedStat()
		return err == nil && now.CPU > 500e6
	})
}

type stepCounts struct{ steps, inChain, frames, wrong, lost, incomplete int }

func (s *stepped) check(t *testing.T, regs *frames.Regs, n *stepCounts) {
	stack, complete := s.stackWithNewCode(t, regs)
	if !complete {
		n.incomplete++
	}
	n.add(t, stack)
}

// stackWithNewCode reads the mappings again if the stack is incomplete.
func (s *stepped) stackWithNewCode(t *testing.T, regs *frames.Regs) (stack []call, complete bool) {
	if stack, complete = s.stack(regs); complete {
		return stack, true
	}
	s.refresh(t)
	return s.stack(regs)
}

func (n *stepCounts) add(t *testing.T, stack []call) {
	n.steps++
	known, wrong := checkChain(stack)
	if wrong != "" {
		if n.wrong++; n.wrong < 5 {
			t.Errorf("stack %d: %s in %v", n.steps, wrong, stack)
		}
	}
	if known > 0 {
		n.inChain++
		n.frames += known
	}
	for _, c := range stack {
		if c.lost() {
			n.lost++
		}
	}
}

func (s *stepped) stack(regs *frames.Regs) (out []call, complete bool) {
	return s.named(regs, observed.Still(s.p.Read), callstack.CoreMemory(s.p.Read), procmem.Now())
}

func (s *stepped) named(regs *frames.Regs, mem frames.Memory, live managed.Live, at int64) (out []call, complete bool) {
	s.merger.Begin(s.p.Runtimes().FrameSources(),
		&managed.Sample{InnerTID: s.p.PID, Regs: regs, Mem: mem, At: at, Live: live})
	s.pcs = s.pcs[:0]
	w := &s.walker
	for w.Init(s.p.Space(), regs, mem); w.Next(); {
		f := w.Frame()
		s.merger.Add(&f)
		s.pcs = append(s.pcs, f.PC)
	}
	complete = w.StopReason().Complete()
	for _, e := range s.merger.End(complete) {
		if e.Source == nil {
			if e.Frame.Module != nil && e.Frame.Module.Generated {
				out = append(out, call{name: unnamed})
			}
			continue
		}
		var truth managed.Certainty
		s.said, truth = e.Source.Symbolize(e.Ref, live, s.said[:0])
		if truth == managed.Freed {
			out = append(out, call{name: "[freed]"})
			continue
		}
		for _, f := range s.said {
			out = append(out, call{f.Function, filepath.Base(f.File), f.Type, f.Line, f.StartLine, f.Inlined})
		}
	}
	return out, complete
}
