// SPDX-License-Identifier: Apache-2.0

package live_test

import (
	"testing"
	"time"

	"prywalk/internal/base/sample"
	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/observed"
	"prywalk/internal/walk/managed"
	"prywalk/internal/walk/waits"
	"prywalk/internal/watch/observe"
)

func TestAWaiterForTheInterpreterNamesItsHolder(t *testing.T) {
	for version, exe := range pythons(t) {
		t.Run(version, func(t *testing.T) {
			cmd, _ := observed.Launch(t, exe, "testdata/gil.py")
			py := attach(t, cmd.Process.Pid)
			waiter := py.names.(managed.Threads)
			told := map[int]int{}
			var unsure struct{ early, elsewhere, later, free int }
			kept := false
			for end := time.Now().Add(testtargets.Patience); len(told) < 3 && time.Now().Before(end); {
				py.looks(t, 1, func(tid int, s *observe.RawSample, _ []frame, _ []uint64, _ managed.Health) {
					word, ok := waits.FutexWord(&s.Call.Args)
					if tid == py.pid {
						switch s.WaitReason() {
						case "clock_nanosleep", "nanosleep", "restart_syscall": // after a stop
							kept = true
						}
					}
					if tid == py.pid || s.State == sample.Running || s.WaitReason() != "futex" || !ok {
						return
					}
					w, ok := waiter.Waiting(&managed.WaitQuery{InnerTID: tid, Word: word, Mem: &s.Mem})
					switch {
					case kept && ok && w.Kind != waits.GIL:
						t.Errorf("thread %d waits at %#x for %+v", tid, word, w)
					case !kept:
						unsure.early++
					case !ok: // at the mutex of the lock's own state
						unsure.elsewhere++
					case w.Later:
						unsure.later++
					case w.Owner == 0:
						unsure.free++
					case w.Owner != py.pid || w.OwnerName != "MainThread":
						t.Errorf("thread %d: %+v", tid, w)
					default:
						told[tid]++
					}
				})
			}
			if len(told) != 3 {
				t.Errorf("%d threads were told who has it; looks that were not sure: %+v", len(told), unsure)
			}
		})
	}
}
