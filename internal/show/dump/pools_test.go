// SPDX-License-Identifier: Apache-2.0

package dump

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"prywalk/internal/base/languages"
	"prywalk/internal/show/dump/locks"
	"prywalk/internal/show/dump/stacks"
	"prywalk/internal/show/dump/text"
	"prywalk/internal/testtargets"
	"prywalk/internal/walk/waits"
)

func java(t *testing.T, file string) []string {
	t.Helper()
	return []string{testtargets.NeedProgram(t, "java"), filepath.Join("testdata", file)}
}

// pythons returns the interpreters from 3.11 on, the newest last.
func pythons(t *testing.T) (list []string) {
	t.Helper()
	home, _ := os.UserHomeDir()
	for _, place := range []string{home + "/.pyenv/versions/3.1[1-5].*/bin/python3", "/usr/bin/python3.1[1-5]",
		"/usr/local/lib/python-releases/3.1[1-5]/bin/python3", os.Getenv("PYTHON_RELEASES") + "/3.1[1-5]/bin/python3"} {
		found, _ := filepath.Glob(place)
		list = append(list, found...)
	}
	testtargets.Need(t, len(list) > 0, "CPython 3.11 to 3.15", testtargets.SetUp)
	return testtargets.First(list)
}

func oldestAndNewestPython(t *testing.T) []string {
	t.Helper()
	all := pythons(t)
	return slices.Compact([]string{all[0], all[len(all)-1]})
}

func settle(t *testing.T, pid int, wanted func(l *locks.Locks) bool) *locks.Locks {
	t.Helper()
	var l *locks.Locks
	t.Cleanup(func() {
		if t.Failed() && l != nil {
			t.Logf("process %d, last: %s, %v\n%s", pid, l.Verdict, l.Deadlocks, lockText(t, l))
		}
	})
	testtargets.Eventually(t, "the threads wait as written in "+t.Name(), func() bool {
		l = locksOf(t, pid)
		return wanted(l)
	})
	return l
}

func lockText(t *testing.T, l *locks.Locks) string {
	t.Helper()
	var b strings.Builder
	if err := text.WriteLocks(&b, l); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestStarvedWorkersAreBlocked(t *testing.T) {
	cxx := compile(t, "pools.cc", "-std=c++20", "-g", "-O1", "-pthread")
	type pool struct {
		command []string
		threads int
		waitsIn string
		line    string
	}
	pools := []pool{
		{java(t, "Pools.java"), 8, "java.util.concurrent.FutureTask.get", "in Pools.waitForTask at Pools.java:16"},
		{[]string{cxx}, 4, "std::future", "in outer at pools.cc:58"},
	}
	for _, python := range oldestAndNewestPython(t) {
		pools = append(pools, pool{[]string{python, "testdata/pools.py"}, 4, "Future.result",
			"in starved.<locals>.outer at pools.py:15"})
	}
	for _, c := range pools {
		p := startProgram(t, c.command[0], nil, append(c.command[1:], "starved")...)
		starved := func(l *locks.Locks) bool {
			return len(l.StarvedPools) == 1 && len(l.StarvedPools[0].Threads) == c.threads &&
				l.StarvedPools[0].WaitsIn == c.waitsIn && l.Verdict == locks.VerdictPossible
		}
		l := settle(t, p.pid, starved)
		text := lockText(t, l)
		if !starved(l) {
			t.Errorf("%v: %s, %+v", c.command, l.Verdict, l.StarvedPools)
			continue
		}
		for _, tid := range l.StarvedPools[0].Threads {
			if th, _ := l.Thread(tid); th.WaitsFor.Idle != "" {
				t.Errorf("%v: thread %d %s is idle: %v", c.command, tid, th.Name, th.WaitsFor)
			}
		}
		if !strings.Contains(text, "1 POSSIBLY STARVED POOL") || !strings.Contains(text, c.line) {
			t.Errorf("%v: %q is missing in\n%s", c.command, c.line, text)
		}
	}
}

func starvedPool() *locks.Locks {
	l := locks.New()
	stack := []stacks.Frame{{Place: &stacks.Place{Function: "std::future<int>::get"}},
		{Place: &stacks.Place{Function: "Pool::worker_loop"}}}
	wait := &waits.Wait{Kind: waits.Future}
	l.Processes = []*stacks.Process{{PID: 1, Threads: []stacks.Thread{
		{TID: 1, Name: "main", State: "S"}, {TID: 2, Name: "w1", State: "S", Frames: stack, WaitsFor: wait},
		{TID: 3, Name: "w2", State: "S", Frames: stack, WaitsFor: wait},
	}}}
	return l
}

func TestPoolsWhoseThreadsGoOnAreNotStarved(t *testing.T) {
	read := starvedPool()
	read.Examine(locks.AsRead{})
	if len(read.StarvedPools) != 1 || read.Verdict != locks.VerdictPossible {
		t.Fatalf("%s, %+v, want one pool", read.Verdict, read.StarvedPools)
	}
	l := &lockExaminer{locks: starvedPool(), byThread: map[int]*examinedProcess{}}
	l.locks.Examine(l)
	if len(l.locks.StarvedPools) != 0 || l.locks.Verdict == locks.VerdictPossible {
		t.Errorf("%s, %+v; want no pool", l.locks.Verdict, l.locks.StarvedPools)
	}
}

func TestThreadsThatAreNotSampledMayBelongToAStarvedPool(t *testing.T) {
	for reason, unknown := range map[string]bool{"running": true, "denied": true, "zombie": false} {
		l := starvedPool()
		l.Processes[0].Failed = map[string]int64{reason: 2}
		l.Examine(locks.AsRead{})
		text := lockText(t, l)
		if unknown != strings.Contains(text, "whether 2 threads that could not be sampled belong to it") ||
			unknown == strings.Contains(text, "POSSIBLY STARVED POOL: all 2 threads of w*") {
			t.Errorf("%s:\n%s", reason, text)
		}
	}
}

func TestIdlePoolsAreIdle(t *testing.T) {
	cxx := compile(t, "pools.cc", "-std=c++20", "-g", "-O1", "-pthread")
	type pool struct {
		command []string
		pool    int
		guessed int // of pool, threads that are idle by a name alone
	}
	pools := []pool{{java(t, "Pools.java"), 3 + 1 + 2 + 1 + 1 + 1, 0}, {[]string{cxx}, 4, 4}}
	for _, python := range oldestAndNewestPython(t) {
		pools = append(pools, pool{[]string{python, "testdata/pools.py"}, 3 + 1, 0})
	}
	for _, c := range pools {
		p := startProgram(t, c.command[0], nil, append(c.command[1:], "idle")...)
		count := func(l *locks.Locks) (n int) {
			for i := range l.Processes[0].Threads {
				if w := l.Processes[0].Threads[i].WaitsFor; w != nil && (w.Idle == waits.IdlePool || w.IdleGuess != "") {
					n++
				}
			}
			return n
		}
		verdict := locks.VerdictNone
		if c.guessed > 0 {
			verdict = locks.VerdictUnknown
		}
		l := settle(t, p.pid, func(l *locks.Locks) bool { return count(l) >= c.pool && l.Verdict == verdict })
		if count(l) < c.pool || l.Verdict != verdict || len(l.WaitersWithoutOwner) != c.guessed || len(l.StarvedPools) > 0 {
			t.Errorf("%v: %d threads idle in pools, want %d; %s\n%s", c.command, count(l), c.pool, l.Verdict, lockText(t, l))
		}
	}
}

func TestNamesOfPoolsMakeNoIdleness(t *testing.T) {
	blocked := func(l *locks.Locks) bool { // not for the GIL
		text := lockText(t, l)
		return len(l.WaitersWithoutOwner) == 2 && l.Verdict == locks.VerdictUnknown &&
			strings.Count(text, languages.PythonCondition+" (semaphore 0x") == 2 &&
			strings.Contains(text, "deadlock unknown: 2 objects have no known owner")
	}
	for _, python := range oldestAndNewestPython(t) {
		p := startProgram(t, python, nil, "testdata/pools.py", "blocked")
		if l := settle(t, p.pid, blocked); !blocked(l) {
			t.Errorf("%s: %s\n%s", python, l.Verdict, lockText(t, l))
		}
	}
}

func TestACoreHasTheLikelyOwnersOfPythonsLocks(t *testing.T) {
	p := startProgram(t, pythons(t)[0], nil, "testdata/pools.py", "locks")
	settle(t, p.pid, func(l *locks.Locks) bool { return len(l.PossibleDeadlocks) == 1 })
	l := LocksOfCore(openCore(t, gcore(t, p.pid), ""), Options{MaxDepth: -1})
	if len(l.PossibleDeadlocks) != 1 || len(l.PossibleDeadlocks[0]) != 2 || l.Verdict != locks.VerdictPossible {
		t.Errorf("%s, %v\n%s", l.Verdict, l.PossibleDeadlocks, lockText(t, l))
	}
}

func TestCrossedLocksOfPython(t *testing.T) {
	for _, python := range pythons(t) {
		p := startProgram(t, python, nil, "testdata/pools.py", "locks")
		l := settle(t, p.pid, func(l *locks.Locks) bool { // no thread waits for the GIL
			return len(l.PossibleDeadlocks) == 1 && len(l.Locks) == 2
		})
		if len(l.PossibleDeadlocks) != 1 || len(l.PossibleDeadlocks[0]) != 2 || len(l.Deadlocks) != 0 ||
			l.Verdict != locks.VerdictPossible {
			t.Errorf("%s: locks: %s, %v, %v\n%s", python, l.Verdict, l.PossibleDeadlocks, l.Deadlocks, lockText(t, l))
		}
		for _, m := range l.Locks {
			waiter, _ := l.Thread(m.Waiters[0])
			if what := waiter.WaitsFor.Type; what != languages.PythonLock &&
				!(what == languages.UnknownPythonLock && strings.HasPrefix(python, "/usr/bin/")) { // stripped
				t.Errorf("%s: a wait for %q", python, what)
			}
			if len(m.Likely) != 1 || slices.Contains(m.Waiters, m.Likely[0].TID) ||
				!strings.Contains(m.Likely[0].Evidence, "inside of \"with\" of this threading.Lock, in cross.<locals>.take at "+
					"pools.py:") {
				t.Errorf("%s: %+v", python, m.Likely)
			}
		}
		p = startProgram(t, python, nil, "testdata/pools.py", "rlocks")
		l = settle(t, p.pid, func(l *locks.Locks) bool { return len(l.Deadlocks) == 1 })
		if len(l.Deadlocks) != 1 || len(l.Deadlocks[0]) != 2 || l.Verdict != locks.VerdictDeadlock {
			t.Errorf("%s: rlocks: %s, %v\n%s", python, l.Verdict, l.Deadlocks, lockText(t, l))
		}
		p = startProgram(t, python, nil, "testdata/pools.py", "uncrossed")
		l = settle(t, p.pid, func(l *locks.Locks) bool { return len(l.WaitersWithoutOwner) == 2 })
		if len(l.PossibleDeadlocks)+len(l.Deadlocks) != 0 || l.Verdict != locks.VerdictUnknown ||
			slices.ContainsFunc(l.Locks, func(m locks.Lock) bool { return len(m.Likely) > 0 }) {
			t.Errorf("%s: uncrossed: %s\n%s", python, l.Verdict, lockText(t, l))
		}
	}
}

func TestJoinsOfPythonNameTheThread(t *testing.T) {
	for _, python := range pythons(t) {
		awaited := map[string]string{"first": "second", "second": "first", "timed": "first"}
		waiting := func(l *locks.Locks) (n int) {
			for i := range l.Processes[0].Threads {
				if th := &l.Processes[0].Threads[i]; awaited[th.Name] != "" && th.WaitsFor != nil {
					n++
				}
			}
			return n
		}
		p := startProgram(t, python, nil, "testdata/pools.py", "joins")
		l := settle(t, p.pid, func(l *locks.Locks) bool { return len(l.Deadlocks) == 1 && waiting(l) == len(awaited) })
		if len(l.Deadlocks) != 1 || len(l.Deadlocks[0]) != 2 {
			t.Errorf("%s: %s, %v\n%s", python, l.Verdict, l.Deadlocks, lockText(t, l))
			continue
		}
		found := 0
		for i := range l.Processes[0].Threads {
			th := &l.Processes[0].Threads[i]
			w, of := th.WaitsFor, awaited[th.Name]
			if of == "" {
				continue
			}
			if found++; w == nil || w.Kind != waits.Join || w.OwnerName != of || w.Timed != (th.Name == "timed") {
				t.Errorf("%s: thread %s waits for %+v, want a join of %s", python, th.Name, w, of)
			}
		}
		if found != len(awaited) {
			t.Errorf("%s: %d threads of %d are in the dump", python, found, len(awaited))
		}
	}
}

func TestRLocksOfPythonWithATimeOutAreNoDeadlock(t *testing.T) {
	owned := func(l *locks.Locks) (n int) {
		for i := range l.Processes[0].Threads {
			if w := l.Processes[0].Threads[i].WaitsFor; w != nil && w.Symbol == languages.PythonRLock && w.Owner != 0 {
				n++
			}
		}
		return n
	}
	for _, python := range oldestAndNewestPython(t) {
		p := startProgram(t, python, nil, "testdata/pools.py", "timed")
		l := settle(t, p.pid, func(l *locks.Locks) bool { return owned(l) == 2 })
		if owned(l) != 2 || len(l.Deadlocks) != 0 {
			t.Errorf("%s: %d waits for an RLock with owner, want 2; %v\n%s", python, owned(l), l.Deadlocks, lockText(t, l))
		}
	}
}

func TestGoroutinesAreNotExamined(t *testing.T) {
	l := locks.New()
	stack := []stacks.Frame{{Place: &stacks.Place{Function: "runtime.futex"}},
		{Place: &stacks.Place{Function: "runtime.mcall"}}}
	l.Processes = []*stacks.Process{{PID: 1, Threads: []stacks.Thread{{TID: 1, Frames: stack}}}}
	l.Examine(locks.AsRead{})
	if text := lockText(t, l); l.Verdict != locks.VerdictUnknown || !strings.Contains(text, "goroutines") {
		t.Errorf("%s\n%s", l.Verdict, text)
	}
}
