// SPDX-License-Identifier: Apache-2.0

package target

import (
	"fmt"
	"os"
	"testing"
	"time"

	"prywalk/internal/host/procmem"
	"prywalk/ptrace"
)

func TestRejectedThreadsThatEndedAreForgotten(t *testing.T) {
	var p ThreadList
	for tid := range 100 {
		p.Reject(tid, 1)
	}
	p.ForgetRejected([]int{99, 7, 1000})
	if len(p.rejected) != 2 || p.rejected[7].since != 1 || p.rejected[99].since != 1 {
		t.Errorf("%d are remembered: %v", len(p.rejected), p.rejected)
	}
}

func TestThreadsAreListedAtEachHintWithinTheShareAndSeldomOfAnIdleProcess(t *testing.T) {
	const apart, listed = listCost * listShare, ptrace.Moment(7e9)
	moved, still, unknown := &Clock{Valid: true, Now: 6}, &Clock{Valid: true, Now: 5}, &Clock{Now: 5}
	for _, c := range []struct {
		what    string
		since   time.Duration // from then on a listing is due
		clock   *Clock
		hinted  bool
		threads int // of the last listing
		all     int // threads of all processes
	}{
		{"a process that runs", listEvery, moved, false, 10, 10},
		{"one of an unknown clock", listEvery, unknown, false, 10, 10},
		{"an idle one", listIdle, still, false, 10, 10},
		{"an idle one beside many threads", 4 * 10_000 * apart, still, false, 10, 10_000},
		{"one with many threads", 4 * 1000 * apart, moved, false, 1000, 10},
		{"one beside many threads", 4 * 1000 * apart, moved, false, 10, 1000},
		{"a hint", 10 * apart, moved, true, 10, 1000},
		{"a hint of an idle one", 10 * apart, still, true, 10, 1000},
		{"a hint of many threads", 1000 * apart, moved, true, 1000, 1000},
	} {
		list := ThreadList{listedAt: listed, clockThen: 5, changeHinted: c.hinted, tids: make([]int, c.threads)}
		if list.Due(listed.Add(c.since).Add(-1), c.clock, c.all) || !list.Due(listed.Add(c.since), c.clock, c.all) {
			t.Errorf("%s: a listing is not due from %d ns on", c.what, c.since)
		}
		if list.MakeDue(); !list.Due(listed, c.clock, c.all) {
			t.Errorf("%s: MakeDue does not make it due", c.what)
		}
	}
}

// A name may be set late: a young thread's is soon read again, an old one's after a second.
func TestTheNameOfARejectedThreadIsReadAgain(t *testing.T) {
	list := NewThreadList(true, "")
	for _, c := range []struct{ at, again ptrace.Moment }{{5, 5}, {6, 7}, {15, 25}, {8e9, 9e9}} {
		list.Reject(7, c.at)
		if c.again > c.at && !list.Rejects(7, c.again.Add(-1)) || list.Rejects(7, c.again) {
			t.Errorf("rejected at %d: its name is not read again from %d on", c.at, c.again)
		}
	}
	if list.Rejects(8, 5) {
		t.Error("another thread is rejected")
	}
	if list.ForgetAllRejected(); list.Rejects(7, 8e9) {
		t.Error("it is still rejected after an exec")
	}
}

func TestAThreadBeganWithinTheRecordingIfItWasNotListedAtTheStart(t *testing.T) {
	list := NewThreadList(false, "")
	list.Reject(7, 1)
	before := fmt.Sprint(list.KnowsStart(), list.FromZero(7), list.FromZero(8))
	list.FinishListing()
	list.Reject(9, 2)
	after := fmt.Sprint(list.KnowsStart(), list.FromZero(7), list.FromZero(8), list.FromZero(9))
	if before != "false false false" || after != "true false true true" {
		t.Errorf("%s, and after the first listing %s", before, after)
	}
}

func TestAnEndedThreadStaysUntilTheNextListing(t *testing.T) {
	list := NewThreadList(true, "")
	first, second := &Thread{TID: 7}, &Thread{TID: 8}
	list.Reject(8, 1)
	list.Add(first)
	list.Add(second)
	if list.Of(8) != second || list.Len() != 2 || list.Lacks(second) || len(list.rejected) != 0 {
		t.Errorf("%d threads, 8 is %v; want both, and none rejected", list.Len(), list.Of(8))
	}
	second.Gone = true
	list.Remove(second)
	list.Reject(9, 1)
	known := fmt.Sprint(list.Knows(7), list.Knows(8), list.Knows(9))
	if known != "true false true" || len(list.All()) != 2 || !list.changeHinted {
		t.Errorf("known: %s, %d threads, hint %t; want 7 and 9, two threads, a hint", known, len(list.All()),
			list.changeHinted)
	}
	if list.FinishListing(); len(list.All()) != 1 || list.All()[0] != first {
		t.Errorf("%d threads after the next listing, want the first", len(list.All()))
	}
	if list.generation++; !list.Lacks(first) {
		t.Error("a listing without the thread does not lack it")
	}
}

func TestAProcesssClockIsReadWithinItsShare(t *testing.T) {
	p := &Process{Threads: ThreadList{tids: make([]int, 10)}, Clock: Clock{ReadAt: 7, First: 3, Now: 5}}
	const from = ptrace.Moment(7 + 10*clockCost*clockShare)
	if p.ClockDue(from-1) || !p.ClockDue(from) {
		t.Errorf("the clock is not due from %d on", int64(from))
	}
	if got := p.Clock.CPUTime(); got != 2 {
		t.Errorf("%d ns of CPU time since the start, want 2", got)
	}
}

func TestANameThatIsNotTheOneReadBeforeIsAChange(t *testing.T) {
	var name procmem.Comm
	if err := procmem.ReadComm(os.Getpid(), &name); err != nil {
		t.Fatal(err)
	}
	for before, want := range map[string]bool{"": false, name.String(): false, "exe": true} {
		list := NewThreadList(true, before)
		if first, again := list.SetFirstName(&name), list.SetFirstName(&name); first != want || again {
			t.Errorf("before %q: changed %t, then %t; want %t, then none", before, first, again, want)
		}
	}
}
