// SPDX-License-Identifier: Apache-2.0

package runstats

import (
	"strings"
	"testing"
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
	for _, ns := range []int64{5, 9, 7} {
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
