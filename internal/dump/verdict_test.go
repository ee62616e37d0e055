// SPDX-License-Identifier: Apache-2.0

package dump

import (
	"strings"
	"testing"

	"prywalk/internal/waits"
)

// A deadlock of threads that SIGSTOP has stopped is not seen: the verdict does not deny it.
func TestLocksOfAStoppedProcessAreUnknown(t *testing.T) {
	p := startProgram(t, cycles(t), nil, "join", "0")
	deadlocksOf(t, 2, p.pid)
	stopAll(t, p.pid)
	l := locksOf(t, p.pid)
	if l.Verdict != VerdictUnknown || l.Unread != len(l.Processes[0].Threads) ||
		!strings.HasPrefix(l.verdictText(), "deadlock unknown: what ") {
		t.Errorf("%s of %d threads: %d, %s", l.Verdict, len(l.Processes[0].Threads), l.Unread, l.verdictText())
	}
}

func TestThreadsThatAreNotReadableMakeTheVerdictUnknown(t *testing.T) {
	for reason, want := range map[string]Verdict{
		"denied": VerdictUnknown, "traced": VerdictUnknown, "timeout": VerdictUnknown, "exited": VerdictNone,
		"max-pause": VerdictNone,
	} {
		l := newLocks()
		l.Processes = []*Process{{PID: 1, Failed: map[string]int64{reason: 2}}}
		l.conclude()
		if l.Verdict != want {
			t.Errorf("%s: %s, want %s", reason, l.Verdict, want)
		}
	}
}

// The waiters for a GIL wake every few milliseconds, so a cycle with one of them never stands still.
func TestACycleThroughTheGILIsNotDenied(t *testing.T) {
	wait := func(tid, owner int, kind waits.Kind, timed bool) Thread {
		return Thread{TID: tid, State: "S", WaitsFor: &waits.Wait{Kind: kind, Owner: owner, Timed: timed}}
	}
	for _, timed := range []bool{false, true} {
		l := newLocks()
		l.Processes = []*Process{{PID: 1, Threads: []Thread{wait(1, 2, waits.Mutex, false), wait(2, 1, waits.GIL, timed)}}}
		l.conclude()
		if len(l.GIL) != 1 || l.Verdict != VerdictUnknown ||
			!strings.Contains(l.verdictText(), "2 threads wait for each other") {
			t.Errorf("timed %v: %v, %s: %s", timed, l.GIL, l.Verdict, l.verdictText())
		}
	}
}
