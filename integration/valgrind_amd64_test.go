// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"os/exec"
	"slices"
	"strconv"
	"testing"

	"github.com/google/pprof/profile"

	"prywalk/internal/testtargets"
)

// Valgrind runs translations of the program's code, on a stack of its own.
func TestAProgramUnderValgrindHasItsOwnStacks(t *testing.T) {
	realPrograms(t)
	testtargets.OnlyInAll(t, "a program that runs another one")
	valgrind := testtargets.NeedProgram(t, "valgrind")
	const source = "testdata/threads.c"
	exe := testtargets.Compiled{Name: "threads", Sources: []string{source},
		Command: []string{"cc", "-O1", "-g", "-pthread", "-o", "OUT", source}}.Build(t)
	c := exec.Command(valgrind, "--tool=none", "-q", exe)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer testtargets.Kill(c)
	r := recordUntil(t, "stacks of the thread that computes", func(p *profile.Profile) bool {
		whole := int64(0)
		for _, s := range p.Sample {
			if incompleteReason(s) == "" && testtargets.HasChain(stackOf(s), []string{"computes", "start_thread"}) {
				whole += s.Value[samplesColumn]
			}
		}
		return whole >= 50
	}, "-F", "499", "-p", strconv.Itoa(c.Process.Pid))
	checkReasons(t, r.Profile, append(slices.Clone(physical), "no-rule")...)
	for _, s := range r.Sample {
		names := stackOf(s)
		if incompleteReason(s) == "" && testtargets.HasChain(names, []string{"computes"}) &&
			!testtargets.HasChain(names, []string{"computes", "start_thread"}) {
			t.Errorf("not all callers: %q", names)
		}
	}
}
