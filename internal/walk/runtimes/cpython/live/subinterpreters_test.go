// SPDX-License-Identifier: Apache-2.0

package live_test

import (
	"slices"
	"testing"

	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/observed"
	"prywalk/internal/walk/managed"
	"prywalk/internal/watch/observe"
)

func TestThreadsWithSeveralStatesHaveTheFramesOfTheOneThatRuns(t *testing.T) {
	for version, exe := range pythons(t) {
		t.Run(version, func(t *testing.T) {
			cmd, line := observed.Launch(t, exe, "testdata/subinterpreters.py")
			testtargets.Need(t, line != "none", "sub-interpreters", "make test-all, with later releases of CPython")
			pid := cmd.Process.Pid
			py := attach(t, pid)
			const enough = 5
			wantInside := enough
			if line != "both" {
				wantInside = 0
			}
			main, inside, broken := 0, 0, 0
			for n := 0; n < 150 && (main < enough || inside < wantInside); n++ {
				py.looks(t, 20, func(tid int, _ *observe.RawSample, stack []frame, _ []uint64, h managed.Health) {
					if h == managed.Broken {
						broken++
						return
					}
					has := names(stack)
					inMain, inSub := slices.Contains(has, "main_leaf"), slices.Contains(has, "inside_leaf")
					switch {
					case inMain && tid == pid:
						main++
					case inSub && tid != pid:
						inside++
					case inMain || inSub:
						t.Errorf("thread %d of %d: %q", tid, pid, has)
					}
				})
			}
			if main < enough || inside < wantInside {
				t.Errorf("%d looks at the main thread's function, %d at the one inside, %d broken", main, inside, broken)
			}
		})
	}
}
