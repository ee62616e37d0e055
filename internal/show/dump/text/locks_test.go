// SPDX-License-Identifier: Apache-2.0

package text

import (
	"io"
	"slices"
	"strconv"
	"strings"
	"testing"

	"prywalk/internal/base/languages"
	"prywalk/internal/base/schema"
	"prywalk/internal/show/dump/locks"
	"prywalk/internal/show/dump/stacks"
	"prywalk/internal/walk/waits"
)

// The first line must not read as an all-clear if the verdict in JSON is "unknown".
func TestAnUnknownVerdictSaysSoFirst(t *testing.T) {
	semaphore := func(address uint64, waiters ...int) locks.Lock {
		return locks.Lock{Wait: waits.Wait{Kind: waits.Semaphore, Type: languages.PythonLock, Address: schema.Hex(address)},
			PID: 1, Waiters: waiters}
	}
	likely := semaphore(1, 11, 12)
	likely.Likely = []locks.LikelyOwner{{TID: 13}}
	owned := locks.Lock{
		Wait: waits.Wait{Kind: waits.Mutex, Address: 9, Ownership: waits.Ownership{Owner: 13}},
		PID:  1, Waiters: []int{16},
	}
	mutex := locks.GoroutineLock{PID: 1, Kind: stacks.KindMutex,
		Waiters: []locks.GoroutineWaiter{{Goroutine: 5}, {Goroutine: 6}}}
	chanOf := locks.GoroutineLock{PID: 1, Kind: stacks.KindChannel, Waiters: []locks.GoroutineWaiter{{Goroutine: 7}}}
	ofFile := locks.Lock{
		Wait: waits.Wait{Kind: waits.FileLock, Ownership: waits.Ownership{OwnerProcess: 2}},
		PID:  1, Waiters: []int{11},
	}
	ofGone := locks.Lock{
		Wait: waits.Wait{Kind: waits.Mutex, Ownership: waits.Ownership{OwnerGone: 12}},
		PID:  1, Waiters: []int{11},
	}
	ofParent := ofGone
	ofParent.OwnerParent = 2
	condition := locks.Lock{Wait: waits.Wait{Kind: waits.Condition, Address: 8}, PID: 1, Waiters: []int{17}}
	join := locks.Lock{
		Wait: waits.Wait{Kind: waits.Join, Address: 7, Ownership: waits.Ownership{Owner: 13}},
		PID:  1, Waiters: []int{18},
	}
	idleJoin := join
	idleJoin.Idle = waits.IdleRuntime
	gil := locks.Lock{Wait: waits.Wait{Kind: waits.GIL, Ownership: waits.Ownership{Owner: 2}}, PID: 1, Waiters: []int{1}}
	ofGILsOwner := owned
	ofGILsOwner.Owner, ofGILsOwner.Waiters = 1, []int{2}
	const ofGo = "deadlock unknown: Go's locks and channels store no owner"
	for name, c := range map[string]struct {
		l    locks.Locks
		want string
	}{
		"none": {locks.Locks{Locks: []locks.Lock{semaphore(1, 11)}, WaitersWithoutOwner: []int{11}},
			"1 thread waits for 1 lock; deadlock unknown: 1 lock has no known owner"},
		"an owner that only an idle thread waits for": {
			locks.Locks{Locks: []locks.Lock{condition, idleJoin}, WaitersWithoutOwner: []int{17}},
			"1 thread waits for 1 object; deadlock unknown: 1 object has no known owner"},
		"likely": {locks.Locks{Locks: []locks.Lock{likely}, WaitersWithoutOwner: []int{11, 12}},
			"2 threads wait for 1 lock; deadlock unknown: 1 lock has a likely owner only"},
		"both": {locks.Locks{Locks: []locks.Lock{likely, semaphore(2, 14), owned},
			WaitersWithoutOwner: []int{11, 12, 14}},
			"4 threads wait for 3 locks; deadlock unknown: 1 of 2 locks has a likely owner only, 1 has none; " +
				"no cycle among the known owners"},
		"no lock": {locks.Locks{Locks: []locks.Lock{condition}, WaitersWithoutOwner: []int{17}},
			"1 thread waits for 1 object; deadlock unknown: 1 object has no known owner"},
		"a lock and no lock": {locks.Locks{Locks: []locks.Lock{condition, owned, join}, WaitersWithoutOwner: []int{17}},
			"3 threads wait for 1 lock and 2 other objects; deadlock unknown: 1 object has no known owner; " +
				"no cycle among the known owners"},
		"of a file": {locks.Locks{Locks: []locks.Lock{ofFile}, WaitersWithoutOwner: []int{11}},
			"1 thread waits for 1 lock; deadlock unknown: which thread holds 1 file lock is not known"},
		"of an ended thread": {locks.Locks{Locks: []locks.Lock{ofGone}, WaitersWithoutOwner: []int{11}},
			"1 thread waits for 1 lock; deadlock unknown: 1 lock was taken by a thread that has ended"},
		"of the parent": {locks.Locks{Locks: []locks.Lock{ofParent}, WaitersWithoutOwner: []int{11}},
			"1 thread waits for 1 lock; deadlock unknown: 1 lock was taken by a thread of the parent process before the fork"},
		"goroutines": {locks.Locks{GoProcesses: []int{1}, GoroutineLocks: []locks.GoroutineLock{mutex, chanOf}},
			"2 goroutines wait for 1 lock; " + ofGo + " (1 lock has no known owner)"},
		"channels": {locks.Locks{GoProcesses: []int{1}, GoroutineLocks: []locks.GoroutineLock{chanOf}},
			"no thread or goroutine waits for a lock; " + ofGo},
		"not read": {locks.Locks{ThreadsWithUnknownWait: 2},
			"no thread is known to wait for a lock; deadlock unknown: what 2 threads wait for " +
				"is not known (not readable, as in state D; or in futex for an unknown object)"},
		"stopped": {locks.Locks{ThreadsWithUnknownWait: 1, StoppedThreads: 1},
			"no thread is known to wait for a lock; deadlock unknown: 1 thread is stopped by a signal or a " +
				"debugger (SIGCONT, or the debugger, continues it)"},
		"the GIL": {locks.Locks{Locks: []locks.Lock{gil, ofGILsOwner}, GILCycles: [][]int{{1, 2}}},
			"2 threads wait for 2 locks; deadlock unknown: 2 threads wait for each " +
				"other through the GIL, which cannot be proven; no other cycle among the known owners"},
		"not examined": {locks.Locks{GoProcesses: []int{2}},
			"no thread waits for a lock; deadlock unknown: locks that goroutines wait for are not examined"},
	} {
		c.l.Verdict = locks.VerdictUnknown
		c.l.Processes = []*stacks.Process{{PID: 1, GoroutineStacks: []stacks.Goroutine{{ID: 5}}}}
		if len(c.l.GoProcesses) > 0 && c.l.GoProcesses[0] == 2 {
			c.l.Processes[0] = &stacks.Process{PID: 2}
		}
		blocked, _ := byIdleness(&c.l)
		if got := waitersText(&c.l, blocked) + "; " + verdictText(&c.l); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func TestAnAllClearNamesTheChildrenThatItDoesNotCover(t *testing.T) {
	l := &locks.Locks{Verdict: locks.VerdictNone, Processes: []*stacks.Process{{PID: 7, Name: "php-fpm"}},
		UnreadChildren: 8}
	var b strings.Builder
	_ = WriteLocks(&b, l)
	const want = "no thread waits for a lock; no deadlock\n" +
		"not read: 8 child processes (--children reads those that it may)\n"
	if !strings.Contains(b.String(), want) {
		t.Error(b.String())
	}
}

func TestTheWaitersForLocksOfADatabaseAreShownTogether(t *testing.T) {
	l := locks.New()
	for pid := range 3 {
		l.Processes = append(l.Processes, &stacks.Process{PID: 7 + pid, Name: "postgres", Threads: []stacks.Thread{{
			TID: 7 + pid, Name: "postgres", State: "S", Wait: "epoll_wait",
			WaitsFor: &waits.Wait{Kind: waits.DatabaseLock, Ownership: waits.Ownership{Why: waits.WhyDatabaseLock}}}}})
	}
	l.Examine(locks.AsRead{})
	var b strings.Builder
	_ = WriteLocks(&b, l)
	const want = "\n3 processes wait for locks of PostgreSQL; deadlock unknown: which process holds a lock of " +
		"PostgreSQL is not known\n\ndatabase-lock: select pg_blocking_pids(PID) names its owner\n" +
		"  waiting: 7 postgres of process 7, 8 postgres of process 8, 9 postgres of process 9\n"
	if !strings.HasSuffix(b.String(), want) {
		t.Errorf("%s\nwant%s", b.String(), want)
	}
}

func TestTheWaitersForSQLitesLockAreNoAllClear(t *testing.T) {
	l := locks.New()
	p := &stacks.Process{PID: 7, Name: "python"}
	for i := range 3 {
		p.Threads = append(p.Threads, stacks.Thread{TID: 8 + i, Name: "waitress", State: "S", Wait: "clock_nanosleep",
			WaitsFor: new(waits.DatabaseWait(waits.SQLite)), Frames: []stacks.Frame{
				{Place: &stacks.Place{Function: "sqlite3InvokeBusyHandler", Module: "/usr/lib/libsqlite3.so.0"}},
				{Place: &stacks.Place{Function: "comment", File: "/srv/urls.py", Line: 35, Kind: "cpython"}}}})
	}
	l.Processes = []*stacks.Process{p}
	l.Examine(locks.AsRead{})
	var b strings.Builder
	_ = WriteLocks(&b, l)
	const want = "\n3 threads wait for SQLite's lock; deadlock unknown: which thread or process holds SQLite's lock is " +
		"not known\n\nSQLite's lock: SQLite stores no owner of it\n  waiting: 8 waitress, 9 waitress, 10 waitress\n" +
		"      in comment at urls.py:35 (3 threads)\n"
	if !strings.HasSuffix(b.String(), want) {
		t.Errorf("%s\nwant%s", b.String(), want)
	}
}

func TestForkedProcessesWithTheSameCopiedLockAreOneEntry(t *testing.T) {
	l := locks.New()
	for pid := 7; pid < 10; pid++ {
		w := &waits.Wait{Kind: waits.Mutex, Symbol: "mu", Ownership: waits.Ownership{OwnerGone: 5 + pid/9, OwnerParent: 5}}
		l.Processes = append(l.Processes, &stacks.Process{PID: pid, Name: "web", Threads: []stacks.Thread{{
			TID: pid, Name: "web", State: "S", Wait: "futex", WaitsFor: w}}})
	}
	l.Examine(locks.AsRead{})
	var b strings.Builder
	_ = WriteLocks(&b, l)
	const want = "; 3 POSSIBLE DEADLOCKS\n\n" +
		"POSSIBLE DEADLOCK: the only threads of 2 processes wait, each for a lock of its own process, which no other " +
		"thread can release\n  7 web of process 7, 8 web of process 8\n" +
		"      waits for mutex mu, taken by thread 5 of the parent process 5 before the fork\n\n" +
		"POSSIBLE DEADLOCK: a process's only thread waits for a lock of that process, which no other thread can release\n" +
		"  9 web of process 9\n      waits for mutex mu, taken by thread 6 of the parent process 5 before the fork\n\nmutex "
	if !strings.Contains(b.String(), want) {
		t.Errorf("%s\nwant%s", b.String(), want)
	}
}

func TestAProcessWithinATransactionIsACandidateForALockOfADatabase(t *testing.T) {
	thread := func(pid int, w waits.Wait) *stacks.Process {
		return &stacks.Process{PID: pid, Name: "postgres", Threads: []stacks.Thread{{
			TID: pid, Name: "postgres", State: "S", Wait: "epoll_wait", WaitsFor: &w}}}
	}
	client := func(address string, peers ...waits.Peer) waits.Wait {
		return waits.Wait{Kind: waits.Descriptor, Ownership: waits.Ownership{Why: waits.IdleInTransaction},
			FD: &waits.OpenFile{FD: 7, Type: "socket", Remote: address, Peers: peers}}
	}
	l := locks.New()
	l.Processes = []*stacks.Process{
		thread(7, waits.Wait{Kind: waits.DatabaseLock, Ownership: waits.Ownership{Why: waits.WhyDatabaseLock}}),
		thread(8, client("127.0.0.1:40262", waits.Peer{PID: 5, Name: "sync"}))}
	for more, want := range []string{"; candidate: 8, \"idle in transaction\", client 127.0.0.1:40262 = sync (pid 5)\n",
		"; candidates: 8, \"idle in transaction\", client 127.0.0.1:40262 = sync (pid 5); " +
			"9, \"idle in transaction\", client 10.0.0.9:51000\n"} {
		if more > 0 {
			l.Processes = append(l.Processes, thread(9, client("10.0.0.9:51000")))
		}
		l.Locks = nil
		l.Collect()
		var b strings.Builder
		_ = WriteLocks(&b, l)
		const transfers = "\n1 thread waits for 127.0.0.1:40262 = sync (pid 5): 8 postgres of process 8\n"
		want = "\ndatabase-lock: " + waits.WhyDatabaseLock + want
		if text := b.String(); !strings.Contains(text, want) || !strings.Contains(text, transfers) {
			t.Errorf("%s\nwant%s%s", text, want, transfers)
		}
	}
}

func TestALikelyOwnerIsShownWithWhatItDoes(t *testing.T) {
	at := func(function string) []stacks.Frame {
		return []stacks.Frame{{Place: &stacks.Place{Function: function, Kind: "cpython"}}}
	}
	lock := locks.Lock{Wait: waits.Wait{Kind: waits.Semaphore, Type: "threading.Lock", Address: 0x10,
		Ownership: waits.Ownership{Why: "stores no owner"}}, PID: 1, Waiters: []int{11},
		Likely: []locks.LikelyOwner{{TID: 12, Evidence: "inside of \"with\""}}}
	l := &locks.Locks{Verdict: locks.VerdictUnknown, Locks: []locks.Lock{lock}, WaitersWithoutOwner: []int{11},
		Processes: []*stacks.Process{{PID: 1, Threads: []stacks.Thread{
			{TID: 11, Name: "waiter", State: "S", Complete: true, WaitsFor: &lock.Wait, Frames: at("want")},
			{TID: 12, Name: "holder", State: "S", Wait: "clock_nanosleep", Complete: true, Frames: at("nap"),
				WaitsFor: &waits.Wait{Kind: waits.Sleep, Until: "for 1h0m0s"}}}}}}
	const want = `
threading.Lock (semaphore 0x10): stores no owner
  waiting: 11 waiter
      in want
  likely held by 12 holder, sleeping in clock_nanosleep
      inside of "with"
      sleeps; asked for 1h0m0s
  #0                     nap [cpython]

1 thread sleeps in nap: 12 holder
`
	if text := lockText(t, l); !strings.HasSuffix(text, want) {
		t.Errorf("%s", text)
	}
}

func TestALockOfPythonWithoutALikelyOwnerSaysWhy(t *testing.T) {
	lock := locks.Lock{Wait: waits.Wait{Kind: waits.Semaphore, Type: languages.PythonLock, Address: 0x10,
		Ownership: waits.Ownership{Why: "stores no owner"}}, PID: 1, Waiters: []int{11}}
	l := &locks.Locks{Locks: []locks.Lock{lock}, Processes: []*stacks.Process{{PID: 1,
		Threads: []stacks.Thread{{TID: 11, WaitsFor: &lock.Wait}}}}}
	const why = "\n  owner not known: no stack shows a \"with\" of it "
	if text := lockText(t, l); !strings.Contains(text, why) {
		t.Errorf("%s", text)
	}
	l.Locks[0].Likely = []locks.LikelyOwner{{TID: 11, Evidence: "inside of \"with\""}}
	if text := lockText(t, l); strings.Contains(text, why) {
		t.Errorf("%s", text)
	}
}

func TestNamesInAPossibleDeadlockArePrintable(t *testing.T) {
	thread := func(tid, owner int) stacks.Thread {
		return stacks.Thread{TID: tid, Name: "app", State: "S", Complete: true,
			Frames:   []stacks.Frame{{Place: &stacks.Place{Function: "evil\x1b[2J", Module: "app"}}},
			WaitsFor: &waits.Wait{Kind: waits.Mutex, Address: 16, Ownership: waits.Ownership{Owner: owner}}}
	}
	for _, cycles := range [][2][][]int{{nil, {{2, 3}}}, {{{2, 3}}, nil}} {
		l := locks.New()
		l.Processes = []*stacks.Process{{PID: 1, Threads: []stacks.Thread{thread(2, 3), thread(3, 2)}}}
		l.Deadlocks, l.PossibleDeadlocks = cycles[0], cycles[1]
		var b strings.Builder
		err := WriteLocks(&b, l)
		if text := b.String(); err != nil || !strings.Contains(text, "evil") || strings.Contains(text, "\x1b") {
			t.Errorf("%v: %q", err, text)
		}
	}
}

func TestThreadsThatWaitForEachOtherAreNamedLast(t *testing.T) {
	wait := func(tid, owner int, timed bool) stacks.Thread {
		return stacks.Thread{TID: tid, Name: "app", State: "S", Complete: true,
			WaitsFor: &waits.Wait{Kind: waits.Mutex, Address: 16, Ownership: waits.Ownership{Owner: owner}, Timed: timed}}
	}
	for timed, want := range map[bool]string{
		false: "\n2 app, 3 app waited for each other when they were read; --locks shows whether it is a deadlock\n",
		true:  "",
	} {
		p := &stacks.Process{PID: 1, Threads: []stacks.Thread{wait(2, 3, timed), wait(3, 2, false), wait(4, 2, false)}}
		for form, write := range map[string]func(io.Writer, *stacks.Process) error{"text": Write, "merged": WriteMerged} {
			var b strings.Builder
			if err := write(&b, p); err != nil || !strings.HasSuffix(b.String(), want) ||
				strings.Contains(b.String(), "--locks") == timed {
				t.Errorf("%s, timed %v: %v\n%s", form, timed, err, b.String())
			}
		}
	}
}

func TestIdleWaitersOfALockAreNotCountedAsBlocked(t *testing.T) {
	wait := func(tid int, address schema.Hex, rule string) stacks.Thread {
		return stacks.Thread{TID: tid, Name: "app", State: "S", Complete: true,
			WaitsFor: &waits.Wait{Kind: waits.Condition, Address: address, Idleness: waits.Idleness{Idle: rule}}}
	}
	for name, c := range map[string]struct {
		threads            []stacks.Thread
		first, wait, after string
		idle               []int
	}{
		"one blocked": {[]stacks.Thread{wait(11, 16, waits.IdlePool), wait(12, 16, ""), wait(13, 16, waits.IdlePool)},
			"1 thread waits for 1 object; ", "\n  waiting: 12 app\n",
			"\nidle, by rule:\n  [idle: pool] 2 threads: 11 app, 13 app\n", []int{11, 13}},
		"two rules": {[]stacks.Thread{wait(11, 16, waits.IdlePool), wait(12, 16, waits.IdleRuntime)},
			"no thread waits for a lock; ", "",
			"\nidle, by rule:\n  [idle: pool] 1 thread: 11 app\n  [idle: runtime] 1 thread: 12 app\n", []int{11, 12}},
		"all of one pool": {[]stacks.Thread{wait(11, 16, waits.IdlePool), wait(12, 16, waits.IdlePool)},
			"no thread waits for a lock; ", "",
			"\nidle, by rule:\n  [idle: pool] condition 0x10: 11 app, 12 app\n", nil},
	} {
		l := locks.New()
		l.Processes = []*stacks.Process{{PID: 1, Threads: c.threads}}
		l.Examine(locks.AsRead{})
		text := lockText(t, l)
		if !strings.Contains(text, "\n"+c.first) || !strings.HasSuffix(text, c.after) || !strings.Contains(text, c.wait) ||
			(c.wait == "") == strings.Contains(text, "waiting: ") || !slices.Equal(l.Locks[0].IdleWaiters, c.idle) {
			t.Errorf("%s: %v\n%s", name, l.Locks[0].IdleWaiters, text)
		}
	}
}

func TestNoDeadlockIsNotSaidOfTasksAndVirtualThreads(t *testing.T) {
	loop := stacks.Frame{Place: &stacks.Place{Function: "BaseEventLoop.run_forever",
		File: "/usr/lib/python3.11/asyncio/base_events.py"}}
	main := stacks.Frame{Place: &stacks.Place{Function: "main"}}
	carrier := stacks.Frame{Place: &stacks.Place{Function: "java.lang.VirtualThread.run", File: "VirtualThread.java"}}
	for name, c := range map[string]struct {
		threads []stacks.Thread
		verdict locks.Verdict
		text    string
	}{
		"neither": {[]stacks.Thread{{TID: 11, Name: "app", Frames: []stacks.Frame{main}}}, locks.VerdictNone, "no deadlock"},
		"tasks": {[]stacks.Thread{{TID: 11, Name: "app", Frames: []stacks.Frame{loop}}}, locks.VerdictUnknown,
			"asyncio's tasks are not examined"},
		"a carrier": {[]stacks.Thread{{TID: 11, Name: "worker", Frames: []stacks.Frame{carrier}}}, locks.VerdictUnknown,
			"virtual threads are not examined; nothing runs; jcmd 1 "},
		"virtual threads that sleep, and tasks": {[]stacks.Thread{{TID: 11, Name: "VirtualThread-unblocker"},
			{TID: 12, Name: "app", Frames: []stacks.Frame{loop}}}, locks.VerdictUnknown,
			"virtual threads and asyncio's tasks are not examined"},
	} {
		l := locks.New()
		l.Processes = []*stacks.Process{{PID: 1, Threads: c.threads}}
		l.Examine(locks.AsRead{})
		if text := lockText(t, l); l.Verdict != c.verdict || !strings.Contains(text, c.text) {
			t.Errorf("%s: %s, want %s\n%s", name, l.Verdict, c.verdict, text)
		}
	}
}

func TestPoolWhoseCarriersAreAllPinnedIsPossiblyStarved(t *testing.T) {
	var stack []stacks.Frame
	for _, name := range []string{"jdk.internal.misc.Unsafe.park", "java.lang.VirtualThread.parkOnCarrierThread",
		"Shop$Cart.<clinit>", "JavaCalls::call", "Shop.ask", "java.lang.VirtualThread.run",
		"jdk.internal.vm.Continuation.enter", "java.util.concurrent.ForkJoinPool.runWorker"} {
		p := &stacks.Place{Function: name, Module: "[HotSpot 25.0.3]", Kind: "jvm"}
		if strings.Contains(name, "::") {
			p.Module, p.Kind = "libjvm.so", ""
		}
		stack = append(stack, stacks.Frame{Place: p})
	}
	carrier := func(tid int, timed bool, frames []stacks.Frame) stacks.Thread {
		return stacks.Thread{TID: tid, Name: "pool-1-worker-" + strconv.Itoa(tid), State: "S", Frames: frames,
			WaitsFor: &waits.Wait{Kind: waits.Park, Timed: timed}}
	}
	ready := stacks.Task{Kind: stacks.VirtualThreadKind, State: "ready", Count: 5}
	for name, c := range map[string]struct {
		second stacks.Thread
		task   stacks.Task
		want   string
	}{
		"all": {carrier(12, false, stack), ready, "\nPOSSIBLY STARVED POOL: all 2 threads of pool-1-worker-* are pinned, " +
			"the first by Shop$Cart.<clinit>; ready, without a carrier: 5 virtual threads\n"},
		"one for some time":          {carrier(12, true, stack), ready, ""},
		"one is not pinned":          {carrier(12, false, stack[7:]), ready, ""},
		"no virtual thread is ready": {carrier(12, false, stack), stacks.Task{Kind: ready.Kind, State: "waiting"}, ""},
	} {
		l := locks.New()
		l.Processes = []*stacks.Process{{PID: 1, Threads: []stacks.Thread{carrier(11, false, stack), c.second},
			Tasks: []stacks.Task{c.task}}}
		l.Examine(locks.AsRead{})
		text := lockText(t, l)
		if starved := strings.Contains(text, "STARVED"); starved != (c.want != "") || !strings.Contains(text, c.want) {
			t.Errorf("%s: %s", name, text)
		}
	}
}

func lockText(t *testing.T, l *locks.Locks) string {
	t.Helper()
	var b strings.Builder
	if err := WriteLocks(&b, l); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestProcessThatTookAFileLockIsShownOrHowToShowIt(t *testing.T) {
	waiter := &stacks.Process{PID: 1, Threads: []stacks.Thread{{TID: 11, Name: "apt", State: "S", Wait: "fcntl"}}}
	holder := &stacks.Process{PID: 2, Threads: []stacks.Thread{{TID: 2, Name: "dpkg", State: "S", Wait: "wait4"}}}
	many := &stacks.Process{PID: 2}
	for tid := range maxShown + 2 {
		many.Threads = append(many.Threads, stacks.Thread{TID: 2 + tid, Name: "worker", State: "S", Wait: "read"})
	}
	for want, processes := range map[string][]*stacks.Process{
		"  what that process does: prywalk dump -p 2\n":           {waiter},
		"  its thread 2 dpkg, sleeping in wait4\n":                {waiter, holder},
		"  its thread 9 worker, sleeping in read\n  and 2 more\n": {waiter, many},
	} {
		l := locks.Locks{Processes: processes, WaitersWithoutOwner: []int{11}, Locks: []locks.Lock{{
			Wait: waits.Wait{Kind: waits.FileLock, Ownership: waits.Ownership{OwnerProcess: 2, OwnerName: "dpkg"}},
			PID:  1, Waiters: []int{11},
		}}}
		var b strings.Builder
		if err := WriteLocks(&b, &l); err != nil || !strings.Contains(b.String(), "taken by process 2 dpkg\n") ||
			!strings.Contains(b.String(), want) {
			t.Errorf("the text has not %q: %v\n%s", want, err, b.String())
		}
	}
}

// Each goroutine of a leak can wait for a channel of its own.
func TestChannelsThatDifferInTheirAddressesAreOne(t *testing.T) {
	l := locks.New()
	for i := range 4 {
		w := locks.GoroutineWaiter{Goroutine: uint64(10 + i), Send: i < 3, In: "main.fetch"}
		l.GoroutineLocks = append(l.GoroutineLocks, locks.GoroutineLock{PID: 7, Kind: stacks.KindChannel,
			Address: schema.Hex(0xc000 + 16*i), Waiters: []locks.GoroutineWaiter{w}})
	}
	var b strings.Builder
	writeChannels(&b, l)
	want := "\n3 channels such as 0xc000, unbuffered\n  waiting to send: goroutines 10, 11, 12\n" +
		"      in main.fetch (3 goroutines)\n  waiting to receive: none\n" +
		"\nchan 0xc030, unbuffered\n  waiting to send: none\n  waiting to receive: goroutine 13\n" +
		"      in main.fetch (1 goroutine)\n"
	if b.String() != want {
		t.Errorf("%s, want %s", b.String(), want)
	}
}
