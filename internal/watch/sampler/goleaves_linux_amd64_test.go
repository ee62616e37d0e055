// SPDX-License-Identifier: Apache-2.0

package sampler

import (
	"os/exec"
	"slices"
	"testing"

	"prywalk/internal/base/incomplete"
	"prywalk/internal/testtargets"
	"prywalk/internal/watch/target"
)

// The stack goes on at main.enter, as the search of the goroutine's stack guesses; its end says so.
func TestCodeWithoutRulesLeadsBackToItsGoroutine(t *testing.T) {
	exe := testtargets.BuildGoThatLeaves(t)
	for name, args := range map[string][]string{"on the goroutine's stack": nil, "on another stack": {"other"}} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command(exe, args...)
			testtargets.Ready(t, cmd)
			inCode := 0
			recordUntil(t, target.SamplingOptions{}, func(r *recorded) bool {
				inCode = 0
				for _, s := range r.Sample {
					st := stack(s)
					i := slices.Index(st, "main.enter")
					if s.Value[3] == 0 || i < 0 && !slices.Contains(st, "[incomplete: no-rule]") {
						continue
					}
					inCode++
					want := []string{"main.enter", "main.work", "main.main.gowrap1", "runtime.goexit", incomplete.Guessed}
					if i != 1 || !slices.Equal(st[i:], want) {
						t.Fatalf("%v, want %v below the code", st, want)
					}
				}
				return inCode > 0
			}, cmd.Process.Pid)
		})
	}
}
