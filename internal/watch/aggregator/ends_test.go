// SPDX-License-Identifier: Apache-2.0

package aggregator

import (
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"

	"prywalk/frames"
	"prywalk/internal/account/attribute"
	"prywalk/internal/base/incomplete"
	"prywalk/internal/code/loadedcode"
	"prywalk/internal/store/profile"
	"prywalk/internal/testtargets"
	"prywalk/internal/walk/managed"
	"prywalk/internal/watch/observe"
	"prywalk/internal/watch/target"
	"prywalk/ptrace"
)

func TestNewNameStaysWhenTheMappingsAreReadAgain(t *testing.T) {
	pid, _ := testtargets.Threads(t, "renames")
	a, p := accountOf(t, pid)
	old := p.process.Comm
	if err := unix.Kill(pid, unix.SIGUSR1); err != nil {
		t.Fatal(err)
	}
	leader := &target.Thread{Proc: p.process, TID: pid}
	testtargets.Eventually(t, "the new name", func() bool { return p.process.Code.ThreadName(pid) == "other" })
	a.handleEvent(&target.Event{Thread: leader, What: &target.Renamed{Cut: attribute.Cut{Thread: leader.ID}}})
	for range 2 {
		if p.process.Comm != "other" || old != "threads" {
			t.Fatalf("name %q, before %q; want other and threads", p.process.Comm, old)
		}
		p.refresh(ptrace.Now())
	}
}

func TestThreadThatCallsExecGetsTheHintsOfTheNewProgram(t *testing.T) {
	cmd := exec.Command("sh", "-c", "echo ready; read line; exec sleep 1000")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	testtargets.Ready(t, cmd)
	pid := cmd.Process.Pid
	a, p := accountOf(t, pid)
	before := p.process.FirstStackEnd()
	first := &target.Thread{Proc: p.process, TID: pid, Observed: observe.NewThread(pid, pid, nil)}
	plan := &managed.Plan{}
	if !first.Observed.Feedback().SetPlan(plan, 0) || first.Observed.Feedback().SetPlan(plan, 0) {
		t.Fatal("the plan of the former program was not set, once")
	}
	if _, err := in.Write([]byte("\n")); err != nil {
		t.Fatal(err)
	}
	testtargets.Eventually(t, "the new program", func() bool { return p.process.Code.ThreadName(pid) == "sleep" })
	testtargets.Asleep(t, pid) // the name is set before the stack is in its place
	p.process.Code.Memory().Renew(pid)
	a.handleEvent(&target.Event{Thread: first, Proc: p.process, What: &target.Execed{At: ptrace.Now()}})
	if end := p.process.FirstStackEnd(); end == 0 || end == before {
		t.Errorf("the first stack ends at %#x, before at %#x", end, before)
	}
	if !first.Observed.Feedback().SetPlan(plan, 0) {
		t.Error("the first thread has the hints of the former program")
	}
}

func TestAccountOfTheThreadThatCallsExecGoesOnAsTheFirstThreads(t *testing.T) {
	pid, _ := testtargets.Threads(t, "sleepers", "1")
	a, p := accountOf(t, pid)
	caller := &target.Thread{ID: 2, Proc: p.process, TID: pid + 1}
	a.beginThread(p, a.states.thread(caller))
	first := &target.Thread{ID: 3, Proc: p.process, TID: pid, Observed: observe.NewThread(pid, pid, nil)}
	execed := attribute.Execed{Process: p.process.ID, Thread: first.ID, Caller: caller.ID}
	a.handleEvent(&target.Event{Thread: first, Proc: p.process, What: &target.Execed{Execed: execed}})
	if a.states.threads[caller.ID] != nil || a.states.threads[first.ID] != first || len(p.waitState.byInnerTID) != 0 {
		t.Errorf("threads %v, by number %v; want the first one alone", a.states.threads, p.waitState.byInnerTID)
	}
}

func accountOf(t *testing.T, pid int) (*Aggregator, *processState) {
	t.Helper()
	opened, err := loadedcode.Open(pid)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = opened.Close() })
	a := New(&target.SamplingOptions{}, profile.NewBuilder(profile.Meta{}), nil, nil, target.NewCommon())
	p := a.states.process(target.NewProcess(opened, false, 0))
	a.beginProcess(p, p.process.Started().What.(*attribute.ProcessStarted))
	return a, p
}

func TestALateSampleOfAnEndedProcessIsNotWalked(t *testing.T) {
	pid, _ := testtargets.Threads(t, "sleepers", "1")
	a, p := accountOf(t, pid)
	th := &target.Thread{Proc: p.process, TID: pid, Observed: observe.NewThread(pid, pid, nil)}
	p.process.Ended = true
	s := deepSample(1)
	a.attributeObservation(&target.Event{Thread: th, RawSample: s})
	if got, want := a.sampled.Place, a.out.recording.Intern([]profile.Loc{
		{Synthetic: attribute.ExecOrExit}, {Synthetic: incomplete.Name(frames.StopBadMemory.String())},
	}); got.Stack != want || got.WalkEnd != frames.StopBadMemory {
		t.Errorf("stack %d, stop reason %v; want %d without a walk", got.Stack, got.WalkEnd, want)
	}
}

func TestEndOfAProcessThatNeverBeganLeavesNoAccount(t *testing.T) {
	var closed []*loadedcode.Process
	closeProcess := func(p *loadedcode.Process) { closed = append(closed, p) }
	a := New(&target.SamplingOptions{}, profile.NewBuilder(profile.Meta{}), nil, closeProcess, target.NewCommon())
	p := &target.Process{Code: ofPID(4711).process.Code}
	a.handleEvent(&target.Event{Proc: p, What: &attribute.ProcessEnded{}})
	if len(a.states.procs) != 0 || len(closed) != 1 || closed[0] != p.Code {
		t.Errorf("%d accounts, closed %v; want none, and %v closed", len(a.states.procs), closed, p.Code)
	}
}
