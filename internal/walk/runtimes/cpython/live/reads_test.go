// SPDX-License-Identifier: Apache-2.0

package live_test

import (
	"encoding/json"
	"testing"

	"prywalk/internal/show/dump"
	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/observed"
	"prywalk/internal/walk/waits"
)

// A StreamReader's task has the descriptor of its transport, from Python 3.11 on.
func TestATaskThatReadsHasTheDescriptor(t *testing.T) {
	for version, exe := range pythons(t) {
		t.Run(version, func(t *testing.T) {
			cmd, line := observed.Launch(t, exe, "testdata/reads.py")
			want := map[string]int{}
			if err := json.Unmarshal([]byte(line), &want); err != nil {
				t.Fatal(err)
			}
			testtargets.Asleep(t, cmd.Process.Pid)
			seen := 0
			for _, task := range observed.Dump(t, cmd.Process.Pid, dump.Options{}).Tasks {
				w, fd := task.WaitsFor, want[task.Name]
				known := w != nil && w.Kind == waits.Descriptor && int(w.FD.FD) == fd && w.FD.Type == task.Name
				switch old := want["minor"] < 11; {
				case task.Name == "sleep":
					if w == nil || w.Kind != waits.Sleep {
						t.Errorf("sleep waits for %+v", w)
					}
				case fd == 0:
					continue
				case !old && !known, old && (w == nil || w.Kind != waits.Other):
					t.Errorf("%s waits for %+v, want descriptor %d", task.Name, w, fd)
				}
				seen++
			}
			if seen != 3 {
				t.Errorf("%d tasks, want 3", seen)
			}
		})
	}
}
