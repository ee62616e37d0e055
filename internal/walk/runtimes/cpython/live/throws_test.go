// SPDX-License-Identifier: Apache-2.0

package live_test

import (
	"encoding/json"
	"strings"
	"testing"

	"prywalk/internal/testtargets/observed"
	"prywalk/internal/walk/managed"
	"prywalk/internal/watch/observe"
)

func TestGeneratorsThatPassThrowOnAreOnTheStack(t *testing.T) {
	for version, exe := range pythons(t) {
		if strings.HasPrefix(version, "3.9.") || strings.HasPrefix(version, "3.10.") {
			continue // native frames only, until other stacks have shown where the loop keeps its frame
		}
		t.Run(version, func(t *testing.T) {
			cmd, line := observed.Launch(t, exe, "testdata/throws.py")
			var k known
			if err := json.Unmarshal([]byte(line), &k); err != nil {
				t.Fatal(err)
			}
			py := attach(t, cmd.Process.Pid)
			whole := 0
			py.looks(t, samplesOf(100), func(_ int, _ *observe.RawSample, stack []frame, _ []uint64, h managed.Health) {
				if h != managed.Matched || py.cut {
					return
				}
				if msg := k.check(stack); msg != "" {
					t.Errorf("%s\n%v", msg, names(stack))
				}
				if len(stack) == len(k) {
					whole++
				}
			})
			if whole == 0 {
				t.Errorf("no stack has all %d functions", len(k))
			}
		})
	}
}
