// SPDX-License-Identifier: Apache-2.0

package dump

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"prywalk/internal/code/loadedcode"
	"prywalk/internal/code/symbols"
	"prywalk/internal/show/dump/locks"
	"prywalk/internal/show/dump/stacks"
)

func TestLocksOfAStoppedProcessAreUnknown(t *testing.T) {
	p := startProgram(t, cycles(t), nil, "join", "0")
	deadlocksOf(t, 2, p.pid)
	stopAll(t, p.pid)
	l := locksOf(t, p.pid)
	if l.Verdict != locks.VerdictUnknown || l.ThreadsWithUnknownWait != len(l.Processes[0].Threads) ||
		!strings.Contains(lockText(t, l), " stopped by a signal or a debugger (SIGCONT, ") {
		t.Errorf("%s of %d threads: %d, %s", l.Verdict, len(l.Processes[0].Threads), l.ThreadsWithUnknownWait, lockText(t, l))
	}
}

func TestLocksOfAStoppedProcessAreUnknownWithoutStops(t *testing.T) {
	pid := startProgram(t, cycles(t), nil, "join", "0").pid
	deadlocksOf(t, 2, pid)
	stopAll(t, pid)
	p, err := loadedcode.Open(pid)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	l, err := ExamineLocks([]*loadedcode.Process{p}, Options{MaxDepth: -1, MaxPause: time.Microsecond})
	if err != nil {
		t.Fatal(err)
	}
	threads := l.Processes[0].Threads
	if l.Verdict != locks.VerdictUnknown || len(threads) == 0 || l.ThreadsWithUnknownWait != len(threads) {
		t.Errorf("%s of %d threads: %d", l.Verdict, len(threads), l.ThreadsWithUnknownWait)
	}
}

func TestAnOwnerThatIsNotSampledIsNamed(t *testing.T) {
	p := startLocks(t)
	check(t, p.pid, rowsOf(p.numbers[0], locksInC))
	target, err := loadedcode.Open(p.pid)
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	names := symbols.NewNamer()
	defer names.Close()
	l := &lockExaminer{locks: locks.New(), options: Options{Names: names}, byPID: map[int]*examinedProcess{},
		byThread: map[int]*examinedProcess{}}
	if err := l.sampleProcesses([]*loadedcode.Process{target}); err != nil {
		t.Fatal(err)
	}
	owner := p.numbers[0]
	delete(l.byThread, owner)
	threads := &l.locks.Processes[0].Threads
	*threads = slices.DeleteFunc(*threads, func(th stacks.Thread) bool { return th.TID == owner })
	l.locks.Examine(l)
	owned := 0
	for i := range l.locks.Locks {
		m := &l.locks.Locks[i]
		if m.Why == locks.WhyChangedEachSample {
			t.Errorf("%s: %s", m.Object(), m.Why)
		}
		if m.Owner == owner {
			owned++
		}
	}
	const want = "is not known"
	if owned != l.locks.UnsampledOwners || owned < 8 || l.locks.Verdict != locks.VerdictUnknown ||
		!strings.Contains(lockText(t, l.locks), "the stack of "+strconv.Itoa(owned)+" owners "+want) ||
		!strings.Contains(lockText(t, l.locks), "held by thread "+strconv.Itoa(owner)+", whose stack "+want) {
		t.Errorf("%d locks owned, %d without a stack: %s", owned, l.locks.UnsampledOwners, lockText(t, l.locks))
	}
}

func TestThreadsThatWaitForFileLocksAreNotDenied(t *testing.T) {
	p := startProgram(t, compile(t, "filelocks.c", "-g", "-O1", "-pthread"), nil, t.TempDir())
	l := deadlocksOf(t, 3, p.pid)
	want := map[string]int{"file-lock flock": p.numbers[0], "file-lock fcntl": p.numbers[0], "semaphore": 0}
	for i := range l.Locks {
		m := &l.Locks[i]
		name, _, _ := strings.Cut(m.Object(), " (fd")
		kind, path, ok := strings.Cut(name, " ")
		if ok {
			kind += " " + filepath.Base(path)
		}
		if owner, known := want[kind]; !known || m.OwnerProcess != owner || len(m.Waiters) != 1 {
			t.Errorf("%s: taken by %d, %d waiters", m.Object(), m.OwnerProcess, len(m.Waiters))
		}
		delete(want, kind)
	}
	if text := lockText(t, l); len(want) > 0 || l.Verdict != locks.VerdictUnknown ||
		!strings.Contains(text, "3 threads wait for 2 locks and 1 other object; deadlock unknown: "+
			"1 object has no known owner; which thread holds 2 file locks is not known\n") ||
		!strings.Contains(text, fmt.Sprintf(", taken by process %d prog\n", p.numbers[0])) {
		t.Errorf("not seen: %v; %s\n%s", want, l.Verdict, text)
	}
}
