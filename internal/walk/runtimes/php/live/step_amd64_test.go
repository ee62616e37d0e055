// SPDX-License-Identifier: Apache-2.0

package live

import (
	"bytes"
	"os"
	"path"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"prywalk/frames"
	"prywalk/internal/code/loadedcode"
	"prywalk/internal/host/procmem"
	"prywalk/internal/show/dump/stacks"
	"prywalk/internal/testtargets/observed"
	"prywalk/internal/walk/callstack"
	"prywalk/internal/walk/managed"
)

type stepped struct {
	p      *loadedcode.Process
	walker frames.Walker
	merger callstack.Merger
	said   []managed.Frame
}

type stepCounts struct {
	steps, frames             int
	wrong, freed              int
	without, incomplete, jump int // without PHP frames, not walked to the end, unlike the previous
	beginning                 int // on the new stack of a fiber
	calls                     int
	before                    int
}

const segment = 400

// PRYWALK_STEPS is the number of instructions.
func TestEveryInstructionHasTheCallsOfTheProgram(t *testing.T) {
	steps := 2 * segment
	if n, err := strconv.Atoi(os.Getenv("PRYWALK_STEPS")); err == nil {
		steps = n
	}
	for _, script := range []string{"chain.php", "evals.php"} {
		for _, php := range interpreters(t) {
			t.Run(strings.TrimSuffix(script, ".php")+"/"+php.name, func(t *testing.T) {
				s := holdPHP(t, php.start(t, script, "600"))
				var n stepCounts
				// The shares without frames depend on the places, as one can be in the JIT compiler: some must have frames.
				whole := func() int { return n.steps - n.without - n.incomplete - n.beginning }
				for n.steps < steps || whole() < segment && n.steps < 100*steps {
					s.runOn(t)
					for n.before = 0; n.steps == 0 || n.steps%segment != 0; {
						s.check(t, observed.Step(t, s.p.PID), &n)
					}
					s.check(t, observed.Step(t, s.p.PID), &n)
				}
				t.Logf("%+v", n)
				if whole() < segment {
					t.Errorf("of %d instructions %d have no PHP frames, %d are not walked to the end", n.steps, n.without,
						n.incomplete)
				}
			})
		}
	}
}

func holdPHP(t *testing.T, pid int) *stepped {
	t.Helper()
	runtime.LockOSThread()
	t.Cleanup(runtime.UnlockOSThread)
	s := &stepped{p: open(t, pid).Process}
	observed.Hold(t, pid)
	return s
}

func (s *stepped) runOn(t *testing.T) {
	t.Helper()
	if err := syscall.PtraceCont(s.p.PID, 0); err != nil {
		t.Fatal(err)
	}
	elsewhere()
	if err := syscall.Tgkill(s.p.PID, s.p.PID, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	observed.WaitStop(t, s.p.PID)
	if _, err := s.p.Refresh(); err != nil {
		t.Fatal(err)
	}
}

func (s *stepped) check(t *testing.T, regs *frames.Regs, n *stepCounts) {
	list, complete := s.stack(regs)
	n.steps++
	if !complete && len(list) == 0 && s.beginsFiber(regs.PC) {
		n.beginning++
		n.before = 0
		return
	}
	n.frames += len(list)
	if !complete {
		n.incomplete++
	}
	if len(list) == 0 {
		n.without++
		n.before = 0
		if os.Getenv("PRYWALK_SHOW") != "" {
			t.Logf("step %d: none at %s", n.steps, s.place(regs.PC))
		}
		return
	}
	for _, f := range list {
		if f.Function == "[freed]" {
			n.freed++
		}
	}
	if d := len(list) - n.before; n.before != 0 && d != 0 {
		n.calls++
		if (d > 2 || d < -2) && !strings.HasPrefix(list[0].Function, "Fiber::") {
			n.jump++
		}
	}
	n.before = len(list)
	if why := wrong(list); why != "" && complete {
		if n.wrong++; n.wrong < 5 {
			var names []string
			for _, f := range list {
				names = append(names, f.Function+":"+strconv.Itoa(f.Line))
			}
			t.Errorf("step %d: %s, at %s:\n%s", n.steps, why, s.place(regs.PC), strings.Join(names, "\n"))
		}
	}
}

// beginsFiber recognizes the code that enters the stack of a fiber (jump_fcontext, and the trampoline before it:
// Zend/asm) by "ldmxcsr (%rsp); fldcw 4(%rsp)".
func (s *stepped) beginsFiber(pc uint64) bool {
	var code [160]byte
	n := s.p.Read(pc-64, code[:])
	return bytes.Contains(code[:max(n, 0)], []byte{0x0f, 0xae, 0x14, 0x24, 0xd9, 0x6c, 0x24, 0x04})
}

func (s *stepped) place(pc uint64) string {
	m := s.p.Space().ModuleAt(pc)
	if m == nil {
		return strconv.FormatUint(pc, 16)
	}
	return path.Base(m.Name) + "+" + strconv.FormatUint(pc-m.Bias, 16)
}

func (s *stepped) stack(regs *frames.Regs) (list []*stacks.Frame, complete bool) {
	live, mem := callstack.CoreMemory(s.p.Read), observed.Still(s.p.Read)
	s.merger.Begin(s.p.Runtimes().FrameSources(),
		&managed.Sample{InnerTID: s.p.PID, Regs: regs, Mem: mem, At: procmem.Now(), Live: live})
	w := &s.walker
	for w.Init(s.p.Space(), regs, mem); w.Next(); {
		f := w.Frame()
		s.merger.Add(&f)
	}
	complete = w.StopReason().Complete()
	for _, e := range s.merger.End(complete) {
		if e.Source == nil {
			continue
		}
		var truth managed.Certainty
		s.said, truth = e.Source.Symbolize(e.Ref, live, s.said[:0])
		if truth == managed.Freed {
			list = append(list, &stacks.Frame{Place: &stacks.Place{Function: "[freed]"}})
			continue
		}
		for _, f := range s.said {
			list = append(list, &stacks.Frame{Place: &stacks.Place{Function: f.Function, File: f.File, Line: f.Line}})
		}
	}
	return list, complete
}
