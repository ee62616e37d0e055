// SPDX-License-Identifier: Apache-2.0

package live_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/observed"
	"prywalk/internal/walk/managed"
	"prywalk/internal/watch/observe"
)

// mostStopCalls are for the stack, the presence of the state's page, the state, and the data stack. Before 3.11 each
// frame is an object, and so is its code.
const (
	mostStopCalls       = 4
	mostStopCallsBefore = 2 * 31
)

func mostCalls(py *python) int64 {
	var minor int
	if n, _ := fmt.Sscanf(py.names.Name(), "CPython 3.%d", &minor); n == 1 && minor < 11 {
		return mostStopCallsBefore
	}
	return mostStopCalls
}

func TestStopTakesFewCalls(t *testing.T) {
	for version, exe := range pythons(t) {
		t.Run(version, func(t *testing.T) {
			cmd, _ := observed.Launch(t, exe, "testdata/deep.py")
			py := attach(t, cmd.Process.Pid)
			var with, without, calls, bare, bytes []int64
			depth := 0
			few := func() bool {
				return len(calls) > 0 && slices.Min(calls) <= mostCalls(py) && len(bare) > 0 && depth >= 30
			}
			look := func(tid int, s *observe.RawSample, stack []frame, _ []uint64, h managed.Health) {
				th, planned := py.threads[tid], py.bare%2 == 0
				depth = max(depth, len(stack))
				if s.How == observe.ByStop && py.bare > 40 && (h == managed.Matched || !planned) {
					if planned {
						with, calls = append(with, int64(s.Cost.CopyTime)), append(calls, int64(s.Cost.Calls))
						bytes = append(bytes, s.Copied()-int64(len(s.Mem.Stack.Bytes)))
					} else {
						without, bare = append(without, int64(s.Cost.CopyTime)), append(bare, int64(s.Cost.Calls))
					}
				}
				py.bare++
				if th.Plans = &py.plans; py.bare%2 == 1 {
					th.Plans = nil
				}
			}
			py.looks(t, samplesOf(300), look)
			for end := time.Now().Add(testtargets.Patience); !few() && time.Now().Before(end); {
				py.looks(t, 10, look)
			}
			if len(calls) == 0 || len(bare) == 0 {
				t.Fatal("no thread was stopped")
			}
			t.Logf("%s: %d calls, %d without a plan, %d bytes more; %d ns, %d without; %d stops; at most %d Python frames",
				py.names.Name(), median(calls), median(bare), median(bytes), median(with), median(without), len(with), depth)
			if depth < 30 || slices.Min(calls) > mostCalls(py) {
				t.Errorf("at least %d calls while a thread was stopped, %d Python frames", slices.Min(calls), depth)
			}
		})
	}
}

func median(list []int64) int64 {
	slices.Sort(list)
	return list[len(list)/2]
}
