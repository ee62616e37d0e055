// SPDX-License-Identifier: Apache-2.0

package observed

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"testing"
	"time"

	"prywalk/frames"
	"prywalk/internal/base/errs"
	"prywalk/internal/code/loadedcode"
	"prywalk/internal/walk/managed"
	"prywalk/internal/watch/observe"
	"prywalk/ptrace"
)

// Frame is a managed frame as found.
type Frame struct {
	managed.Frame
	Truth managed.Certainty
}

// Stack is a merged stack.
type Stack struct {
	Frames []Frame // managed, outermost first
	Health managed.Health
	// Natives are the addresses by which native frames' functions are found, innermost first.
	Natives []uint64
	// Runs are the numbers of managed frames that each of them runs.
	Runs []int
}

// Names are outermost first.
func (s *Stack) Names() (list []string) {
	for i := range s.Frames {
		list = append(list, s.Frames[i].Function)
	}
	return list
}

// HasFreed reports whether a frame has no name, as its memory may have been reused.
func (s *Stack) HasFreed() bool {
	return slices.ContainsFunc(s.Frames, func(f Frame) bool { return f.Truth == managed.Freed })
}

// Process is a live process with a runtime.
type Process struct {
	PID   int
	Code  *loadedcode.Process
	Host  *Host
	Names managed.FrameSource
	// Called before each observation, and before its walk; may be nil.
	Before, After func()
	MayEnd        bool
	// Thread changes a thread before its first observation; may be nil.
	Thread func(*observe.Thread)

	plan    *managed.Plan
	plans   observe.Plans
	threads map[int]*observe.Thread
	walker  frames.Walker
}

// ErrNone means that the process has no such runtime.
var ErrNone = errors.New("the process has no such run-time system")

// Attach opens a process, or fails the test. also are addresses of 64 bytes that each observation copies.
func Attach(t *testing.T, pid int, detect managed.Detector, also ...uint64) *Process {
	t.Helper()
	p, err := Open(t, pid, detect, also...)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Open is Attach, with [ErrNone].
func Open(t *testing.T, pid int, detect managed.Detector, also ...uint64) (*Process, error) {
	t.Helper()
	c, err := loadedcode.Open(pid)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	p := &Process{PID: pid, Code: c, Host: NewHost(c), threads: map[int]*observe.Thread{}}
	r, err := detect(p.Host)
	switch {
	case err != nil:
		return nil, err
	case r == nil:
		return nil, ErrNone
	}
	p.Names = r.(managed.FrameSource)
	p.plan = p.Names.Plan()
	if len(also) > 0 {
		plan := *p.plan
		plan.Steps = slices.Clone(plan.Steps)
		for _, at := range also {
			plan.Steps = slices.Insert(plan.Steps, 0,
				managed.Step{Op: managed.Copy, Base: managed.SlotZero, Off: int64(at), Max: 64})
		}
		p.plan = &plan
	}
	p.plans.Store(&[]*managed.Plan{p.plan})
	return p, nil
}

const patience = 4 * time.Minute

// Launch starts a program until the test's end, and returns its first line of output.
func Launch(t testing.TB, exe string, args ...string) (*exec.Cmd, string) {
	t.Helper()
	cmd := exec.Command(exe, args...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	hung := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	defer hung.Stop()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("%s ended: %v", exe, err)
	}
	return cmd, line[:len(line)-1]
}

// Observe observes each thread n times, sleepers by passive reads, and passes each stack to got.
func (p *Process) Observe(t *testing.T, n int, got func(tid int, s *observe.RawSample, stack Stack)) {
	t.Helper()
	tids, err := p.Code.Threads(nil)
	if err != nil {
		t.Fatal(err)
	}
	runtime.LockOSThread() // ptrace is bound to the OS thread
	defer runtime.UnlockOSThread()
	ctl := ptrace.NewController(ptrace.Options{})
	defer ctl.Close()
	o := observe.New(ctl, observe.NewPool(4), observe.ModeAlwaysRead)
	done := func(th *observe.Thread, s *observe.RawSample, err error) {
		if err != nil {
			if !errors.Is(err, ptrace.ErrTimeout) && !p.ended(err) {
				t.Error(err)
			}
			return
		}
		if p.After != nil {
			p.After()
		}
		got(th.ID.TID, s, p.walk(th, s))
		p.setPlan(th, s.Regs.TLS)
	}
	for range n {
		for _, tid := range tids {
			th := p.thread(tid)
			if th.Pending() {
				collect(o, done)
				continue
			}
			if p.Before != nil {
				p.Before()
			}
			outcome, s, err := o.Begin(th)
			switch {
			case err != nil && p.ended(err):
			case err != nil:
				t.Error(err)
			case outcome == observe.Done:
				done(th, s, nil)
			case outcome == observe.Pending:
				collect(o, done)
			}
		}
	}
}

func collect(o *observe.Observer, done func(*observe.Thread, *observe.RawSample, error)) {
	until := ptrace.Now().Add(1e9)
	for th, s, err := o.Stops.Next(until); th != nil; th, s, err = o.Stops.Next(until) {
		done(th, s, err)
	}
}

// stackBytes are copied from the first stop on: sizes are not learned here.
const stackBytes = 256 << 10

func (p *Process) thread(tid int) *observe.Thread {
	th := p.threads[tid]
	if th == nil {
		th = observe.NewThread(p.PID, tid, nil)
		th.Feedback().SetCopySize(stackBytes)
		th.Memory, th.Plans = p.Code.Memory(), &p.plans
		p.threads[tid] = th
		if p.Thread != nil {
			p.Thread(th)
		}
		p.setPlan(th, 0)
	}
	return th
}

func (p *Process) ended(err error) bool { return p.MayEnd && observe.Reason(err) == errs.Exited }

func (p *Process) setPlan(th *observe.Thread, tls uint64) {
	if th.Plans == nil {
		th.Feedback().SetPlan(nil, 0)
		return
	}
	if at, ok := p.Names.Anchor(th.ID.TID, tls); ok {
		th.Feedback().SetPlan(p.plan, at)
	}
}

func (p *Process) walk(th *observe.Thread, s *observe.RawSample) Stack {
	if end := p.Code.StackEnd(s.Mem.Stack.Addr); end != 0 {
		s.Mem.StackEnd = end
	}
	return p.Merge(&managed.Sample{
		InnerTID: th.ID.TID, Regs: &s.Regs, Mem: &s.Mem, At: int64(s.At),
		Live: p.Live(th.ID.TID, s),
	})
}

// Live returns the process's memory, valid while the thread has slept since its observation.
func (p *Process) Live(tid int, s *observe.RawSample) managed.Live {
	files := p.threads[tid].Files()
	return live{p.Code, func() bool {
		if s.How != observe.ByPassiveRead {
			return false
		}
		now, err := files.SchedStat()
		return err == nil && now.Runs == s.Sched.Runs
	}}
}

// Merge walks a thread's copy. It reads the mappings again if they lack code.
func (p *Process) Merge(s *managed.Sample) Stack {
	stack, whole := p.merge(s)
	if whole {
		return stack
	}
	if _, err := p.Code.Refresh(); err != nil {
		return Stack{Health: managed.Broken}
	}
	p.Names.Attach(p.Host)
	if stack, whole = p.merge(s); !whole {
		stack.Frames, stack.Health = nil, managed.Broken
	}
	return stack
}

// merge returns whole if all code had a rule.
func (p *Process) merge(s *managed.Sample) (stack Stack, whole bool) {
	var refs []managed.Ref
	p.Names.Begin(s)
	w := &p.walker
	var last frames.Frame
	native := func(cfa frames.Addr) {
		known := len(refs)
		refs, _ = p.Names.ManagedFrames(&last, cfa, refs)
		stack.Runs = append(stack.Runs, len(refs)-known)
	}
	for w.Init(p.Code.Space(), s.Regs, s.Mem); w.Next(); {
		f := w.Frame()
		if last.PC != 0 {
			native(f.SP)
		}
		last = f
		stack.Natives = append(stack.Natives, f.LookupPC(frames.X86_64))
	}
	outer := frames.Addr(0)
	if w.StopReason().Complete() {
		outer = managed.Outermost
	}
	native(outer)
	stack.Health = p.Names.End()
	var out []managed.Frame
	for i := len(refs) - 1; i >= 0; i-- {
		var truth managed.Certainty
		out, truth = p.Names.Symbolize(refs[i], s.Live, out[:0])
		stack.Frames = append(stack.Frames, Frame{out[0], truth})
	}
	return stack, w.StopReason() != frames.StopNoRule
}

type live struct {
	p         *loadedcode.Process
	unchanged func() bool
}

func (l live) Read(a uint64, b []byte) int { n, _ := l.p.ReadMem(a, b); return n }

// Unchanged implements managed.Live.
func (l live) Unchanged() bool { return l.unchanged() }
