// SPDX-License-Identifier: Apache-2.0

package sampler

import (
	"os/exec"
	"testing"

	"prywalk/internal/testtargets"
	"prywalk/internal/watch/target"
)

// As OCaml 5 calls C: tables lead from the first stack to a place on another one that is never the same. Without the
// words that led there before, 13 of 100 walks are incomplete.
func TestTheStackToWhichTablesLeadIsCopied(t *testing.T) {
	exe, err := testtargets.Compile("stackswitch_x86.c", "-O2", "-fno-optimize-sibling-calls", "-fno-inline")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	testtargets.Ready(t, cmd)
	var c copies
	enough := func(s *Sampler) bool { return s.Progress().Tracer.Stops >= 1000 }
	run(t, target.SamplingOptions{Freq: 499, MaxDepth: -1, Walked: c.watch}, enough, nil, cmd.Process.Pid)
	if part := float64(c.cut) / float64(len(c.sizes)); part > 0.01 || c.at(0.99) > 384<<10 {
		t.Errorf("%d of %d walks lacked something; copies of %d bytes, p99 %d", c.cut, len(c.sizes), c.at(0.5), c.at(0.99))
	}
}
