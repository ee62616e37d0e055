// SPDX-License-Identifier: Apache-2.0

package locks

import (
	"slices"
	"testing"

	"prywalk/internal/base/languages"
	"prywalk/internal/base/schema"
	"prywalk/internal/show/dump/stacks"
	"prywalk/internal/walk/waits"
)

func TestThreadsThatAreNotReadableMakeTheVerdictUnknown(t *testing.T) {
	for reason, want := range map[string]Verdict{
		"denied": VerdictUnknown, "traced": VerdictUnknown, "timeout": VerdictUnknown, "zombie": VerdictNone,
		"max-pause": VerdictNone,
	} {
		l := New()
		l.Processes = []*stacks.Process{{PID: 1, Failed: map[string]int64{reason: 2}}}
		l.Examine(AsRead{})
		if l.Verdict != want {
			t.Errorf("%s: %s, want %s", reason, l.Verdict, want)
		}
	}
}

// Cores of arm64 do not have a call's arguments.
func TestAWaitWithoutItsLockMakesTheVerdictUnknown(t *testing.T) {
	for wait, want := range map[string]Verdict{"futex": VerdictUnknown, "epoll_wait": VerdictNone} {
		l := New()
		l.Processes = []*stacks.Process{{PID: 1, Threads: []stacks.Thread{{TID: 1, State: "S", Wait: wait}}}}
		l.conclude()
		if l.Verdict != want {
			t.Errorf("%s: %s, want %s", wait, l.Verdict, want)
		}
	}
}

// As where the event loop's thread has no Python functions, or sleeps elsewhere.
func TestPendingTasksOfAsyncioMakeTheVerdictUnknown(t *testing.T) {
	l := New()
	l.Processes = []*stacks.Process{{PID: 1, Threads: []stacks.Thread{{TID: 1, State: "S", Wait: "epoll_wait"}},
		Tasks: []stacks.Task{{Kind: languages.AsyncioFamily, State: "waiting", Count: 1}}}}
	l.conclude()
	if l.Verdict != VerdictUnknown || !slices.Equal(l.ThreadlessTasks, []string{"asyncio's tasks"}) {
		t.Errorf("%s, not examined: %q", l.Verdict, l.ThreadlessTasks)
	}
}

func TestALanguageThatDoesNotRecognizeItsSchedulerLeavesTheVerdict(t *testing.T) {
	all := languages.All
	defer func() { languages.All = all }()
	toyLanguage := languages.Language{Runtimes: []string{"toy"}, Unthreaded: "fibers of the toy"}
	languages.All = append(slices.Clone(all), &toyLanguage)
	l := New()
	l.Processes = []*stacks.Process{{PID: 1, Threads: []stacks.Thread{{TID: 1, State: "R"}}}}
	l.conclude()
	if l.Verdict != VerdictNone || len(l.ThreadlessTasks) > 0 {
		t.Errorf("%s, not examined: %q", l.Verdict, l.ThreadlessTasks)
	}
}

// The waiters for a GIL wake every few milliseconds.
func TestACycleThroughTheGILIsNotDenied(t *testing.T) {
	wait := func(tid, owner int, kind waits.Kind, timed bool) stacks.Thread {
		wait := &waits.Wait{Kind: kind, Ownership: waits.Ownership{Owner: owner}, Timed: timed}
		return stacks.Thread{TID: tid, State: "S", WaitsFor: wait}
	}
	for _, timed := range []bool{false, true} {
		l := New()
		l.Processes = []*stacks.Process{{PID: 1, Threads: []stacks.Thread{
			wait(1, 2, waits.Mutex, false), wait(2, 1, waits.GIL, timed)}}}
		l.conclude()
		if len(l.GILCycles) != 1 || l.Verdict != VerdictUnknown {
			t.Errorf("timed %v: %v, %s", timed, l.GILCycles, l.Verdict)
		}
	}
}

// The example of doc.go.
func TestTheVerdictIsAsTheExampleSays(t *testing.T) {
	thread := func(tid int, kind waits.Kind, address schema.Hex, owner int) stacks.Thread {
		wait := &waits.Wait{Kind: kind, Address: address, Ownership: waits.Ownership{Owner: owner}}
		return stacks.Thread{TID: tid, State: "S", WaitsFor: wait}
	}
	running := stacks.Thread{TID: 2, State: "R"}
	first, third := thread(1, waits.Mutex, 0xa, 2), thread(3, waits.Mutex, 0xa, 2)
	second, fourth := thread(2, waits.Mutex, 0xb, 1), thread(4, waits.Condition, 0xc, 0)
	for name, c := range map[string]struct {
		threads []stacks.Thread
		want    Verdict
		cycles  int
	}{
		"all":                {[]stacks.Thread{first, second, third, fourth}, VerdictDeadlock, 1},
		"without 2's wait":   {[]stacks.Thread{first, running, third, fourth}, VerdictUnknown, 0},
		"without 4's either": {[]stacks.Thread{first, running, third}, VerdictNone, 0},
	} {
		l := New()
		l.Processes = []*stacks.Process{{PID: 1, Threads: c.threads}}
		l.Examine(AsRead{})
		if l.Verdict != c.want || len(l.Deadlocks) != c.cycles ||
			c.cycles == 1 && !slices.Equal(l.Deadlocks[0], []int{1, 2}) {
			t.Errorf("%s: %s with deadlocks %v, want %s", name, l.Verdict, l.Deadlocks, c.want)
		}
	}
}

func TestAGoroutineThatNothingCanWakeMakesTheVerdictADeadlock(t *testing.T) {
	for want, of := range map[Verdict][]stacks.Goroutine{
		VerdictDeadlock: {
			{ID: 1, Status: "leaked", Wait: "chan receive"},
			{ID: 1, Status: "waiting", Wait: "chan receive (nil chan)"},
			{ID: 1, Status: "waiting", Wait: "chan send (nil chan)"},
			{ID: 2, Status: "waiting", Wait: "select (no cases)"},
		},
		VerdictNone: {
			{ID: 1, Status: "waiting", Wait: "select (no cases)"},
			{ID: 1, Status: "leaked", Wait: "select (no cases)"},
			{ID: 2, Status: "waiting", Wait: "chan receive"},
			{ID: 2, Status: "runnable", Wait: "select (no cases)"},
			{ID: 2, Status: "leaked", Wait: "chan receive", System: true},
		},
	} {
		for i := range of {
			l := New()
			l.Processes = []*stacks.Process{{PID: 1, GoroutineStacks: of[i : i+1]}}
			l.Examine(AsRead{})
			if l.Verdict != want {
				t.Errorf("%+v: %s, want %s", of[i], l.Verdict, want)
			}
		}
	}
}
