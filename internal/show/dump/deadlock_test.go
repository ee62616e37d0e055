// SPDX-License-Identifier: Apache-2.0

package dump

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"prywalk/internal/show/dump/locks"
	"prywalk/internal/show/dump/text"
	"prywalk/internal/testtargets"
	"prywalk/internal/walk/waits"
)

func cycles(t *testing.T) string {
	t.Helper()
	exe, err := testtargets.Compile("cycles.c", "-O1")
	if err != nil {
		t.Fatal(err)
	}
	return exe
}

// At a barrier, a thread is on its way to its lock.
func deadlocksOf(t *testing.T, waiters int, pids ...int) *locks.Locks {
	t.Helper()
	var l *locks.Locks
	testtargets.Eventually(t, fmt.Sprintf("%d threads wait for locks", waiters), func() bool {
		l = locksOf(t, pids...)
		n := 0
		for i := range l.Locks {
			if l.Locks[i].Kind != waits.Barrier {
				n += len(l.Locks[i].Waiters)
			}
		}
		return n >= waiters
	})
	return l
}

func TestDeadlocksAreCyclesThatStand(t *testing.T) {
	exe := cycles(t)
	for _, c := range []struct {
		how     string
		crowd   int
		members []int
		waiters int
	}{
		{"cycle", 997, []int{0, 1, 2}, 3 + 498}, {"timed", 0, nil, 3}, {"join", 0, []int{0, 1}, 2},
		{"rwlock", 0, []int{0, 1}, 2}, {"pi", 0, []int{0, 1}, 2}, {"twice", 0, []int{0}, 1},
	} {
		p := startProgram(t, exe, nil, c.how, strconv.Itoa(c.crowd))
		l := deadlocksOf(t, c.waiters, p.pid)
		var want [][]int
		if len(c.members) > 0 {
			var cycle []int
			for _, m := range c.members {
				cycle = append(cycle, p.numbers[m])
			}
			slices.Sort(cycle)
			want = append(want, cycle)
		}
		for _, d := range l.Deadlocks {
			slices.Sort(d)
		}
		if !slices.EqualFunc(l.Deadlocks, want, slices.Equal) {
			t.Errorf("%s: deadlocks %v, want %v", c.how, l.Deadlocks, want)
		}
		if len(want) > 0 && l.UnchangedFor > confirmDelay { // the reading itself is not certain
			t.Errorf("%s: unchanged for %v, more than the time between two readings", c.how, l.UnchangedFor)
		}
		if n := len(l.Processes[0].Threads); n < c.crowd {
			t.Errorf("%s: %d threads", c.how, n)
		}
	}
}

func TestLocksOfTwoProcesses(t *testing.T) {
	exe := cycles(t)
	p := startProgram(t, exe, nil, "shared")
	if l := deadlocksOf(t, 1, p.pid, p.numbers[3]); len(l.Locks) != 1 || l.Locks[0].Owner != p.pid ||
		l.Locks[0].OwnerThread == nil {
		t.Errorf("shared: %+v", l.Locks)
	}
	owner := fmt.Sprintf("held by thread %d of another process, or of one that has ended", p.pid)
	l := deadlocksOf(t, 1, p.numbers[3])
	if len(l.Locks) != 1 || l.Locks[0].Owner != 0 || l.Locks[0].Why != owner {
		t.Errorf("shared, one process examined: %+v, want %q", l.Locks, owner)
	}
	var b strings.Builder
	if err := text.WriteLocks(&b, l); err != nil || !strings.Contains(b.String(), ": "+owner+"\n") {
		t.Errorf("%v, %s, want %q", err, b.String(), owner)
	}
	p = startProgram(t, exe, nil, "both")
	if l := deadlocksOf(t, 2, p.pid, p.numbers[3]); len(l.Deadlocks) != 1 || len(l.Deadlocks[0]) != 2 {
		t.Errorf("both: %+v", l.Deadlocks)
	}
	p = startProgram(t, exe, nil, "fork")
	if l := deadlocksOf(t, 1, p.numbers[3]); len(l.Locks) != 1 || l.Locks[0].Owner != 0 || l.Locks[0].OwnerGone != p.pid ||
		l.Locks[0].OwnerParent != p.pid || !slices.EqualFunc(l.PossibleDeadlocks, [][]int{{p.numbers[3]}}, slices.Equal) {
		t.Errorf("fork: %+v, %v, want one possible deadlock of the child's only thread", l.Locks, l.PossibleDeadlocks)
	} else if s := text.Sentences(l)[0]; !strings.Contains(s, " before the fork, in ") ||
		!strings.HasSuffix(s, ": no other thread can release it") {
		t.Errorf("fork: %q, want that no other thread can release the lock", s)
	}
}
