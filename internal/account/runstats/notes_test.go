// SPDX-License-Identifier: Apache-2.0

package runstats

import (
	"strings"
	"testing"
	"time"

	"prywalk/internal/host/cgroup"
)

func TestNotesOnChildrenAreReadAgain(t *testing.T) {
	for _, c := range []struct {
		n    int64
		used float64
		note string
		who  string
	}{
		{0, 0, "exited child processes, not in the recording; --children includes them", "exited child processes"},
		{0, 1.26, "exited child processes used 1.3 s of CPU meanwhile, not in the recording; --children includes them, " +
			"also those already running", "exited child processes"},
		{1, 0, "1 child process, not in the recording; --children includes them", "1 child process"},
		{12, 30, "12 child processes used 30.0 s of CPU meanwhile, not in the recording; --children includes them, also " +
			"those already running", "12 child processes"},
	} {
		note := UnrecordedChildren(c.n, c.used)
		who, used := ReadUnrecordedChildren(note)
		if note != c.note || who != c.who || used < c.used-0.05 || used > c.used+0.05 {
			t.Errorf("%d, %v: %q, read as %q, %v", c.n, c.used, note, who, used)
		}
	}
	if who, used := ReadUnrecordedChildren("12 threads were not opened; raise the limit"); who != "" || used != 0 {
		t.Errorf("of another note: %q, %v", who, used)
	}
}

func TestALaterQuotaReplacesTheFormerOne(t *testing.T) {
	q := OwnQuota{Quota: 2, TicksWithheldByQuota: 3, StopsThrottled: 4}
	q.Add(OwnQuota{TicksWithheldByQuota: 10, StopsThrottled: 20})
	if want := (OwnQuota{2, 13, 24}); q != want {
		t.Errorf("%+v, want %+v", q, want)
	}
	q.Add(OwnQuota{Quota: 0.5})
	if want := (OwnQuota{0.5, 13, 24}); q != want {
		t.Errorf("%+v, want %+v", q, want)
	}
}

func TestLongEventsKeepTheLongest(t *testing.T) {
	var l LongEvents
	for _, ns := range []time.Duration{5, 9, 7} {
		l.Add(ns)
	}
	if l.N != 3 || l.Max != 9 {
		t.Errorf("%+v, want 3 events, the longest of 9", l)
	}
}

func TestGoroutinesThatWereNotReadAreReported(t *testing.T) {
	if got := unreadGoroutines(&Stats{}); got != "" {
		t.Errorf("%q", got)
	}
	s := &Stats{Goroutines: &WaitingTasks{MostAtOnce: 100000}}
	if got := unreadGoroutines(s); got != "" {
		t.Errorf("%q", got)
	}
	s.Goroutines.Unread = 12
	if got := unreadGoroutines(s); !strings.HasPrefix(got, "12 goroutines were not read ") ||
		!strings.Contains(got, "up to 100000)") {
		t.Errorf("%q", got)
	}
	if got := walkedAfterEnd(&Stats{}); got != "" {
		t.Errorf("%q", got)
	}
}

// What a reader cannot change is in the account alone.
func TestEachNoteSaysWhatToDo(t *testing.T) {
	const priority = "; as root or with CAP_SYS_NICE"
	for _, c := range []struct {
		set    func(*Stats)
		remedy string // "": no note
	}{
		{func(s *Stats) { s.Broken, s.BrokenCalls = 2, map[string]int64{"connect": 2} }, "; kernel samples, or a lower -F, "},
		{func(s *Stats) { s.ReportedTwice = 1 }, "; kernel samples, or a lower -F, "},
		{func(s *Stats) { s.NotObserved = 1.2 }, "; give it a spare CPU, or CAP_SYS_NICE"},
		{func(s *Stats) { s.NotObserved, s.Scheduling = 1.2, "fifo" }, "; give it a spare CPU"},
		{func(s *Stats) { s.Suspended = 60 }, ""},
		{func(s *Stats) { s.Unopened = 3 }, "raise its limit, ulimit -n 4096"},
		{func(s *Stats) { s.Refused = map[string]int64{"denied": 3, "zombie": 1} },
			": prywalk doctor -p PID names the cause"},
		{func(s *Stats) { s.Failed = map[string]int64{"timeout": 2, "traced": 1} }, "; check for uninterruptible sleep"},
		{func(s *Stats) { s.Failed = map[string]int64{"traced": 1} }, "; detach it"},
		{func(s *Stats) { s.Failed, s.Tracer = map[string]int64{"traced": 1}, "gdb traces it; detach gdb" }, "; detach gdb"},
		{func(s *Stats) { s.Failed, s.MaxPause = map[string]int64{"max-pause": 1}, Nanos(time.Millisecond) }, priority},
		{func(s *Stats) { s.Stops, s.StopTime.Max = 1, Nanos(longStop) },
			"; prywalk report --account counts long stops by cause"},
		{func(s *Stats) { s.Quota, s.TicksWithheldByQuota = 0.5, 9 },
			"; give it a larger quota, or run it in another cgroup"},
		{func(s *Stats) { s.ProfiledCPU, s.ExitedUnseenCPU = 1, 1 }, ": a higher -F samples more of them"},
		{func(s *Stats) { s.ProfiledCPU, s.UnobservedCPU, s.TicksWithheld = 1, 1, 9 }, priority},
		{func(s *Stats) { s.ProfiledCPU, s.IncompleteCPU = 1, map[string]float64{"depth": 1} },
			"; record with a larger --max-depth"},
		{func(s *Stats) { s.ProfiledCPU, s.GuessedCPU = 1, 1 },
			"; if the code is of a file, the debug symbols of that can help"},
		{func(s *Stats) { s.WalkedAfterEnd = 3 }, "; end the recording before the process (-d, Ctrl-C)"},
		{func(s *Stats) { s.LostSamples = 3 }, ": a lower -F, or CAP_IPC_LOCK, loses fewer)"},
		{func(s *Stats) { s.Goroutines = &WaitingTasks{Unread: 3} }, "; record longer (-d)"},
		{func(s *Stats) { s.FrozenTargets = []FrozenTarget{{PID: 7}} }, "; let it run (prywalk doctor -p PID says how), "},
		{func(s *Stats) { s.TargetQuotas = []cgroup.Throttling{{PID: 7, Seconds: 1}} },
			"; a larger quota or fewer threads help"},
	} {
		s := &Stats{}
		c.set(s)
		notes := append(Losses(s), TargetGroups(s)...)
		if len(notes) != min(1, len(c.remedy)) || !strings.Contains(strings.Join(notes, ""), c.remedy) {
			t.Errorf("%q, want one with %q", notes, c.remedy)
		}
		if s.Suspended > 0 && !strings.Contains(CommentLine(s), ", host suspended for 60.0 s; ") {
			t.Errorf("the account does not have it: %s", CommentLine(s))
		}
	}
}

func TestOneCauseHasOneNote(t *testing.T) {
	s := &Stats{}
	s.Attempted, s.Failed, s.Tracer = 9, map[string]int64{"traced": 5}, "gdb (process 8) traces it; detach gdb"
	s.ProfiledCPU, s.UnobservedCPU, s.Seconds = 10, 9, 10
	if notes := Losses(s); len(notes) != 1 || notes[0] != "note: 90.0% of CPU time has no function: "+s.Tracer {
		t.Errorf("another tracer: %q", notes)
	}
	s.TicksWithheld, s.Failed, s.NotObserved, s.Gaps = 0, nil, 9, 2
	const busy = "note: 90.0% of CPU time has no function: the host was too busy "
	if notes := Losses(s); len(notes) != 1 || !strings.HasPrefix(notes[0], busy) {
		t.Errorf("a busy host: %q", notes)
	}
	if s.NotObserved = 0.1; len(Losses(s)) != 2 {
		t.Errorf("short gaps, and what is between samples: %q", Losses(s))
	}
	if line := CommentLine(s); !strings.Contains(line, "; 0.1 s not observed (2 gaps, longest 0.0 s), host ") {
		t.Errorf("the account: %s", line)
	}
}
