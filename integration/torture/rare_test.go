// SPDX-License-Identifier: Apache-2.0

package torture

import (
	"context"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"testing"

	"prywalk/internal/testtargets"
)

// Breakpoints of its own, restartable sequences, SCHED_DEADLINE, and a fault on its own stack that waits for a
// page by userfaultfd.
func TestRareInterfacesKeepWorkingWhileRecorded(t *testing.T) {
	for _, mode := range []string{"breakpoint", "rseq", "deadline", "ownstack"} {
		for _, engine := range testtargets.First([]string{"ptrace", "auto"}) {
			t.Run(mode+"/"+engine, func(t *testing.T) {
				if mode == "breakpoint" {
					// There the signal can come after the instruction that follows: without a recording 26 of 15,128 did
					// (Debian's 6.1-rt, emulated).
					realtime, _ := os.ReadFile("/sys/kernel/realtime")
					testtargets.Need(t, string(realtime) != "1\n", "signals of breakpoints at once", "a kernel without PREEMPT_RT")
				}
				p := start(t, "rare", mode)
				testtargets.Need(t, !slices.Contains(p.lines, "refused"), mode, "a kernel and user with this interface")
				r := record(t, p.pid, "--engine", engine, "-F", "500")
				r.awaitSamples(p.pid)
				p.awaitProgress(10)
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				defer cancel()
				for range 3 {
					if out, err := exec.CommandContext(ctx, binary, "dump", "-p", strconv.Itoa(p.pid)).CombinedOutput(); err != nil {
						t.Errorf("prywalk dump: %v: %s", err, out)
					}
				}
				p.awaitProgress(10)
				r.stop()
				r.checkReport()
				v := p.finish()
				if v["wrong"] != 0 || v["done"] == 0 {
					t.Errorf("the program's counts are %v", v)
				}
				if mode == "ownstack" && (v["early"] != 0 || v["faults"] != 1 || v["through"] != 1) {
					t.Errorf("the program's counts are %v, want one page of the stack", v)
				}
			})
		}
	}
}
