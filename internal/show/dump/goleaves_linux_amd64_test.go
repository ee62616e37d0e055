// SPDX-License-Identifier: Apache-2.0

package dump

import (
	"os/exec"
	"slices"
	"testing"

	"prywalk/internal/show/dump/stacks"
	"prywalk/internal/testtargets"
)

func TestAGoroutineInCodeWithoutRulesHasItsFrames(t *testing.T) {
	exe := testtargets.BuildGoThatLeaves(t)
	for name, args := range map[string][]string{"on the goroutine's stack": nil, "on another stack": {"other"}} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command(exe, args...)
			testtargets.Ready(t, cmd)
			testtargets.Eventually(t, "a goroutine in main.enter is on a thread", func() bool {
				p := sampleGoroutines(t, cmd.Process.Pid)
				i := slices.IndexFunc(p.GoroutineStacks, func(g stacks.Goroutine) bool { return has(&g, "main.enter") })
				if i < 0 {
					return false
				}
				g := &p.GoroutineStacks[i]
				var functions, methods []string
				for _, f := range g.Frames {
					functions, methods = append(functions, f.Function), append(methods, f.Method)
				}
				want := []string{"[anon]", "main.enter", "main.work", "main.main.gowrap1", "runtime.goexit"}
				if !slices.Equal(functions, want) || methods[1] != "scan" || g.Thread == 0 || !g.Complete {
					t.Fatalf("%v by %v on thread %d, complete %v", functions, methods, g.Thread, g.Complete)
				}
				return true
			})
		})
	}
}
