// SPDX-License-Identifier: Apache-2.0

package dump

import (
	"os/exec"
	"testing"

	"prywalk/frames"
	"prywalk/internal/code/loadedcode"
	"prywalk/internal/code/symbols"
	"prywalk/internal/show/dump/stacks"
	"prywalk/internal/show/dump/walk"
	"prywalk/internal/testtargets"
	"prywalk/internal/watch/observe"
	"prywalk/ptrace"
)

func wholeRecursion(t *testing.T, p *stacks.Process) {
	t.Helper()
	for i := range p.Threads {
		th, n := &p.Threads[i], 0
		for j := range th.Frames {
			if th.Frames[j].Function == "deep" {
				n++
			}
		}
		if n == 0 && i < len(p.Threads)-1 {
			continue
		}
		if n != 100_000 || !th.Complete || len(th.Frames) < n+4 {
			t.Errorf("%d of 100000 calls in %d frames, %s", n, len(th.Frames), th.StopReason)
		}
	}
	if len(p.Threads) != 2 {
		t.Errorf("%d threads", len(p.Threads))
	}
}

func TestRecursionOf100000CallsIsWhole(t *testing.T) {
	exe := compile(t, "deep.c", "-O1", "-fno-optimize-sibling-calls", "-pthread")
	cmd := exec.Command(exe)
	testtargets.Ready(t, cmd)
	wholeRecursion(t, sampleOf(t, cmd.Process.Pid, -1))
	stopAll(t, cmd.Process.Pid)
	dead := openCore(t, gcore(t, cmd.Process.Pid), "")
	wholeRecursion(t, Core(dead, Options{MaxDepth: -1}))
}

type endsProcess struct {
	ptrace.Wrapped
	process *exec.Cmd
}

func (e endsProcess) Regions(*frames.Regs, *ptrace.Reader, []frames.Region) int {
	testtargets.Kill(e.process)
	return 0
}

func TestAFurtherSampleThatFailsLeavesTheOneBefore(t *testing.T) {
	cmd := exec.Command(compile(t, "deep.c", "-O1", "-fno-optimize-sibling-calls", "-pthread"))
	testtargets.Ready(t, cmd)
	allSleep(t, cmd.Process.Pid)
	target, err := loadedcode.Open(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	tids, err := target.Threads(nil)
	if err != nil || len(tids) != 2 {
		t.Fatalf("threads %d: %v", tids, err)
	}
	names := symbols.NewNamer()
	defer names.Close()
	deep := observe.NewThread(target.PID, tids[1], nil)
	defer deep.Close()
	deep.Feedback().SetCopySize(firstCopySize)
	deep.Memory = target.Memory()
	first, err := sampleThread(deep, Options{}, observe.ModeAlwaysRead)
	if first == nil || err != nil {
		t.Fatalf("sample %v: %v", first, err)
	}
	deep.OtherMemory = endsProcess{process: cmd}
	w := walk.New(target.PID, names, nil)
	w.MaxDepth = -1
	th, s, err := completeStack(target, w, Options{}, deep, first, func() bool { return false })
	if s != first || err != nil || len(th.Frames) == 0 || th.Complete {
		t.Errorf("sample %p, want %p; %d frames, complete: %v; %v", s, first, len(th.Frames), th.Complete, err)
	}
}
