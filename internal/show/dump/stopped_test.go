// SPDX-License-Identifier: Apache-2.0

package dump

import (
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"prywalk/internal/testtargets"
)

// A slow stop once made others, and so the registers, seem to be beyond --max-pause.
func TestStackOfAStoppedProcessIsWholeWhateverItsStopsTake(t *testing.T) {
	cmd := exec.Command(compile(t, "arrays.c", "-O1"))
	testtargets.Ready(t, cmd)
	stopAll(t, cmd.Process.Pid)
	for _, pause := range []time.Duration{0, 1} {
		p := taken(t, cmd.Process.Pid, Options{MaxPause: pause})
		if len(p.Threads) != 1 {
			t.Fatalf("%d threads, failed %v", len(p.Threads), p.Failed)
		}
		th := &p.Threads[0]
		n := 0
		for _, f := range th.Frames {
			if f.Function == "nest" {
				n++
			}
		}
		if !th.Complete || n != 6 || th.Wait != "stopped" {
			t.Errorf("at most %v: %d of 6 calls, %s, %q: %+v", pause, n, th.StopReason, th.Wait, th.Frames)
		}
	}
	chain := chainsOf(t, []int{cmd.Process.Pid})
	if want := "1 of 1 blocked thread of prog (pid "; !strings.HasPrefix(chain.Conclusion, want) ||
		!strings.HasSuffix(chain.Conclusion, ", stopped by a signal or a debugger; SIGCONT, or the debugger, continues it") {
		t.Errorf("chains: %s", chain.Conclusion)
	}
	_ = cmd.Process.Signal(syscall.SIGCONT)
}
