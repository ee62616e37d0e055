// SPDX-License-Identifier: Apache-2.0

package dump

import (
	"fmt"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"prywalk/internal/code/loadedcode"
	"prywalk/internal/host/filememory"
	"prywalk/internal/show/dump/stacks"
	"prywalk/internal/show/dump/text"
	"prywalk/internal/testtargets"
)

func runaway(t *testing.T, calls string) int {
	t.Helper()
	cmd := exec.Command(compile(t, "runaway.c", "-O1", "-fno-optimize-sibling-calls", "-pthread"), calls)
	testtargets.Ready(t, cmd)
	testtargets.Eventually(t, "all threads but one sleep", func() bool { return awake(cmd.Process.Pid) == 1 })
	return cmd.Process.Pid
}

func sampleWith(t *testing.T, pid int, total int64, o Options) *stacks.Process {
	t.Helper()
	filememory.Process().SetTotal(total)
	t.Cleanup(func() { filememory.Process().SetTotal(filememory.DefaultTotal) })
	target, err := loadedcode.Open(pid)
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	o.MaxDepth = -1
	p, err := Sample(target, o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestFourThreadsOf900000FramesAreWholeWithinTheBudget(t *testing.T) {
	pid := runaway(t, "900000")
	p := sampleWith(t, pid, filememory.DefaultTotal, Options{})
	var mem runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&mem)
	for i := range p.Threads {
		if th := &p.Threads[i]; !th.Complete || len(th.Frames) < 900_000 && th.TID != pid {
			t.Errorf("thread %d: %d frames, %s", th.TID, len(th.Frames), th.StopReason)
		}
	}
	if mem.HeapAlloc > filememory.DefaultTotal/2 || len(p.Threads) != 5 {
		t.Errorf("%d bytes for the stacks of %d threads", mem.HeapAlloc, len(p.Threads))
	}
	var b strings.Builder
	if err := text.Write(&b, p); err != nil || strings.Count(b.String(), "\n") > 200 ||
		strings.Count(b.String(), "… 899,980 frames") != 4 {
		t.Errorf("%v, %d lines", err, strings.Count(b.String(), "\n"))
	}
	p.Close()
	p = sampleWith(t, pid, 64<<20, Options{})
	defer p.Close()
	left := filememory.Process().Refusals()
	if peak := p.Budget.Used(); peak > 32<<20 || !strings.Contains(left, fmt.Sprintf("stacks of process %d", pid)) {
		t.Errorf("%d bytes taken; %q", peak, left)
	}
	for i := range p.Threads {
		if th := &p.Threads[i]; th.TID != pid && (th.Complete || len(th.Frames) == 0) {
			t.Errorf("thread %d: %d frames, %s", th.TID, len(th.Frames), th.StopReason)
		}
	}
}

func TestMaxPauseCutsTheStacksOfRunningThreadsOnly(t *testing.T) {
	pid := runaway(t, "300000")
	whole := sampleWith(t, pid, filememory.DefaultTotal, Options{})
	p := sampleWith(t, pid, filememory.DefaultTotal, Options{MaxPause: time.Millisecond})
	defer whole.Close()
	defer p.Close()
	cut := 0
	for i := range p.Threads {
		th := &p.Threads[i]
		switch {
		case th.How == "stop" && th.StopReason == "stack-cut":
			cut++
			if bytes := th.Frames[len(th.Frames)-2].SP - th.Frames[0].SP; bytes > 16<<20 {
				t.Errorf("%d bytes were copied in a stop of a millisecond", bytes)
			}
		case !th.Complete:
			t.Errorf("thread %d, %s: %s", th.TID, th.How, th.StopReason)
		}
	}
	if cut+int(p.Failed["max-pause"]) != 1 {
		t.Errorf("%d stacks of running threads were cut, failed %v", cut, p.Failed)
	}
	for i := range whole.Threads {
		if th := &whole.Threads[i]; !th.Complete {
			t.Errorf("without a limit thread %d: %s", th.TID, th.StopReason)
		}
	}
}
