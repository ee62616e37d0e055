// SPDX-License-Identifier: Apache-2.0

package torture

import (
	"context"
	"os/exec"
	"slices"
	"strconv"
	"testing"
)

// TestRareInterfacesWorkOn while their program is recorded by either engine and dumped: breakpoints of its own,
// restartable sequences, SCHED_DEADLINE, and a fault on a stack that waits for a user's page.
func TestRareInterfacesWorkOn(t *testing.T) {
	for _, mode := range []string{"breakpoint", "rseq", "deadline", "ownstack"} {
		for _, engine := range []string{"ptrace", "auto"} {
			t.Run(mode+"/"+engine, func(t *testing.T) {
				p := start(t, "rare", mode)
				if slices.Contains(p.lines, "refused") {
					t.Skip("this kernel, user or machine has no such interface")
				}
				r := record(t, p.pid, "--engine", engine, "-F", "500")
				r.awaitSamples(p.pid)
				p.works(10)
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				defer cancel()
				for range 3 {
					if out, err := exec.CommandContext(ctx, binary, "dump", "-p", strconv.Itoa(p.pid)).CombinedOutput(); err != nil {
						t.Errorf("dump: %v: %s", err, out)
					}
				}
				p.works(10)
				r.stop()
				r.opens()
				v := p.verdict()
				if v["wrong"] != 0 || v["done"] == 0 {
					t.Errorf("the program: %v", v)
				}
				// One page: that of the thread itself, which has waited for it until the end.
				if mode == "ownstack" && (v["early"] != 0 || v["faults"] != 1 || v["through"] != 1) {
					t.Errorf("pages of the stack: %v", v)
				}
			})
		}
	}
}
