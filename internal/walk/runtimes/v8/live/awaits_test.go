// SPDX-License-Identifier: Apache-2.0

package live_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"

	"prywalk/internal/base/languages"
	"prywalk/internal/show/dump"
	"prywalk/internal/show/dump/stacks"
	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/observed"
)

// startAwaits returns the program's own account of its chains.
func startAwaits(t *testing.T, exe string, args ...string) (pid int, account map[string]int) {
	t.Helper()
	pid, says := startSaying(t, exe, "jsawaits.js", args...)
	line, err := says.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(line), &account); err != nil {
		t.Fatal(err)
	}
	return pid, account
}

func awaitsOf(p *stacks.Process) map[string]int {
	got := map[string]int{}
	for i := range p.Tasks {
		task := &p.Tasks[i]
		var places []string
		for _, f := range task.Frames {
			places = append(places, fmt.Sprintf("%s:%d", f.Function, f.Line))
		}
		if chain := strings.Join(places, " "); task.Kind == languages.AwaitTask && !strings.Contains(chain, "churn") {
			got[chain] += task.Count
		}
	}
	return got
}

func TestPendingAwaitsAreThoseOfTheProgramsOwnAccount(t *testing.T) {
	for version, exe := range nodes(t) {
		t.Run(version, func(t *testing.T) {
			pid, account := startAwaits(t, exe, "2000,worker")
			var got map[string]int
			defer func() {
				if t.Failed() {
					t.Logf("the last chains are %v, want %v", got, account)
				}
			}()
			testtargets.Eventually(t, "the chains of the program", func() bool {
				p := observed.Dump(t, pid, dump.Options{MaxDepth: -1, Awaits: true})
				got = awaitsOf(p)
				return p.Awaits != nil && maps.Equal(got, account)
			})
		})
	}
}

// What moves during a reading is left out.
func TestNoAwaitIsWrongWhileTheProgramCollects(t *testing.T) {
	for version, exe := range nodes(t) {
		t.Run(version, func(t *testing.T) {
			pid, account := startAwaits(t, exe, "--expose-gc", "--max-semi-space-size=1", "1000,storm")
			shown, all, read := 0, 0, 0
			for range 5 {
				p := observed.Dump(t, pid, dump.Options{MaxDepth: -1, Awaits: true})
				if p.Awaits != nil {
					read += p.Awaits.Pending + p.Awaits.Unproven
				}
				for chain, n := range awaitsOf(p) {
					if n > account[chain] {
						t.Errorf("%d of %q, which the program has %d times", n, chain, account[chain])
					}
					shown += n
				}
				all += 1000
			}
			if read == 0 {
				t.Error("no awaits were read")
			}
			t.Logf("%d of %d chains", shown, all)
		})
	}
}
