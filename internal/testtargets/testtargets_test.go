// SPDX-License-Identifier: Apache-2.0

package testtargets

import (
	"fmt"
	"os"
	"testing"
	"time"
)

func TestEachTargetRunsAndCleansUp(t *testing.T) {
	OnlyInAll(t, "starts every real program")
	for _, name := range Names() {
		t.Run(name, func(t *testing.T) {
			start := time.Now().Add(-time.Second) // file times may be late by a tick or more
			target, err := Start(name, Options{Limit: 5 * time.Minute})
			if err != nil {
				t.Fatal(err)
			}
			defer target.Stop()
			pids := target.PIDs()
			if target.Expect.Tree && len(pids) < 3 {
				t.Errorf("a tree of %d processes, want at least 3", len(pids))
			}
			before := cpuTicks(pids)
			if err := target.processes[0].waitFor("go on", func() bool { return cpuTicks(pids) > before }); err != nil {
				t.Error(err)
			}
			target.Stop()
			for _, pid := range pids {
				gone := func() bool { f := statFields(pid); return len(f) == 0 || f[0] == "Z" }
				if !Comes(gone) {
					t.Errorf("process %d still exists: %v", pid, statFields(pid))
				}
				if s, err := os.Stat(fmt.Sprintf("/tmp/perf-%d.map", pid)); err == nil && s.ModTime().After(start) {
					t.Errorf("the perf map of %d still exists", pid)
				}
			}
			if _, err := os.Stat(target.Dir); err == nil {
				t.Errorf("%s still exists", target.Dir)
			}
		})
	}
}

func TestNamesMatchAsWholeWords(t *testing.T) {
	for _, c := range []struct {
		name, want string
		ok         bool
	}{
		{"burn_60", "burn_60", true},
		{"load::burn_60", "burn_60", true},
		{"unsigned long load::units<60>(unsigned long)", "load::units<60>", true},
		{"JS:*burnSixty /tmp/load.js:9", "burnSixty", true},
		{"burn_601", "burn_60", false},
		{"reburn_60 burn_60", "burn_60", true},
		{"", "burn_60", false},
	} {
		if got := Matches(c.name, c.want); got != c.ok {
			t.Errorf("Matches(%q, %q) = %v, want %v", c.name, c.want, got, c.ok)
		}
	}
}

func TestChainsMayHaveOtherFramesBetween(t *testing.T) {
	stack := []string{"compare_numbers", "msort", "qsort_r", "sort_numbers", "run_load", "main", "_start"}
	if !HasChain(stack, []string{"compare_numbers", "sort_numbers", "main"}) {
		t.Error("a chain was not found")
	}
	if HasChain(stack, []string{"sort_numbers", "compare_numbers"}) {
		t.Error("a chain was found in the wrong order")
	}
}
