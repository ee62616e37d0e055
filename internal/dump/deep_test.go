// SPDX-License-Identifier: Apache-2.0

package dump

import (
	"os/exec"
	"testing"

	"prywalk/internal/core"
	"prywalk/internal/testtargets"
)

func wholeRecursion(t *testing.T, p *Process) {
	t.Helper()
	for i := range p.Threads {
		th, n := &p.Threads[i], 0
		for j := range th.Frames {
			if th.Frames[j].Function == "deep" {
				n++
			}
		}
		if n == 0 && i < len(p.Threads)-1 {
			continue // the first thread
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
	dead := openCore(t, gcore(t, cmd.Process.Pid), core.Options{})
	wholeRecursion(t, Core(dead, Options{MaxDepth: -1}))
}
