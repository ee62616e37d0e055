// SPDX-License-Identifier: Apache-2.0

package locks

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"prywalk/internal/base/errs"
	"prywalk/internal/base/schema"
	"prywalk/internal/show/chains"
	"prywalk/internal/show/dump/stacks"
	"prywalk/internal/walk/waits"
)

// The first waiter was read while a thread that has ended held the lock.
func TestALockHasTheOwnershipOfTheWaiterThatKnowsItsOwner(t *testing.T) {
	known := waits.Ownership{Owner: 7, OwnerName: "owner"}
	l := New()
	l.Processes = []*stacks.Process{{PID: 1}}
	for i, read := range []waits.Ownership{{OwnerGone: 5, OwnerParent: 3, Readers: 1, Why: "ended"}, known} {
		w := &waits.Wait{Kind: waits.Mutex, Address: 0x10, Ownership: read}
		l.Processes[0].Threads = append(l.Processes[0].Threads, stacks.Thread{TID: 10 + i, WaitsFor: w})
	}
	l.Collect()
	if len(l.Locks) != 1 || l.Locks[0].Ownership != known {
		t.Errorf("%+v, want the ownership %+v", l.Locks, known)
	}
}

func TestTheOnlyThreadOfTheProcessThatTookAFileLockIsItsLikelyOwner(t *testing.T) {
	waitsFor := func(pid, owner int) *stacks.Process {
		return &stacks.Process{PID: pid, Threads: []stacks.Thread{{TID: pid, State: "S", Wait: "flock",
			WaitsFor: &waits.Wait{Kind: waits.FileLock, FD: &waits.OpenFile{Path: fmt.Sprintf("/srv/%d", owner)},
				Ownership: waits.Ownership{OwnerProcess: owner}}}}}
	}
	holder := &stacks.Process{PID: 9, Threads: []stacks.Thread{{TID: 9, State: "S", Wait: "poll"}}}
	l := New()
	l.Processes = []*stacks.Process{waitsFor(1, 9), holder}
	l.Examine(AsRead{})
	if likely := l.Locks[0].Likely; len(likely) != 1 || likely[0].TID != 9 || l.Verdict != VerdictUnknown {
		t.Errorf("%+v, %s", likely, l.Verdict)
	}
	l = New()
	l.Processes = []*stacks.Process{waitsFor(1, 2), waitsFor(2, 1)}
	if l.Examine(AsRead{}); len(l.PossibleDeadlocks) != 1 || l.Verdict != VerdictPossible {
		t.Errorf("two processes that wait for each other: %v, %s", l.PossibleDeadlocks, l.Verdict)
	}
	l = New()
	holder.Threads = append(holder.Threads, stacks.Thread{TID: 10, State: "S", Wait: "poll"})
	l.Processes = []*stacks.Process{waitsFor(1, 9), holder}
	if l.Examine(AsRead{}); len(l.Locks[0].Likely) > 0 {
		t.Errorf("one of two threads: %+v", l.Locks[0].Likely)
	}
	l = New()
	l.Processes = []*stacks.Process{waitsFor(1, 9), {PID: 9, Failed: map[string]int64{errs.MaxPause.Word(): 1}}}
	if l.Examine(AsRead{}); len(l.Locks[0].Likely) > 0 {
		t.Errorf("a thread that was not read: %+v", l.Locks[0].Likely)
	}
}

func TestProcessesThatWaitForEachOthersFileLocksAreACycleOfChains(t *testing.T) {
	l := New()
	for pid := 1; pid <= 2; pid++ {
		w := &waits.Wait{Kind: waits.FileLock, FD: &waits.OpenFile{Path: fmt.Sprint("/srv/", 3-pid)},
			Ownership: waits.Ownership{OwnerProcess: 3 - pid}}
		l.Processes = append(l.Processes, &stacks.Process{PID: pid, Name: "app",
			Threads: []stacks.Thread{{TID: pid, State: "S", Wait: "flock", WaitsFor: w}}})
	}
	l.Examine(AsRead{})
	if err := l.FollowChains(AsRead{}); err != nil {
		t.Fatal(err)
	}
	for _, c := range l.Followed.Chains {
		if c.End.Kind != chains.Deadlock {
			t.Errorf("%+v", c)
		}
	}
}

func TestChildrenThatWereNotReadAreNamedBesideTheConclusionOfChains(t *testing.T) {
	l := New()
	l.UnreadChildren = 8
	err := l.FollowChains(AsRead{})
	if err != nil || !strings.HasSuffix(l.Followed.Conclusion, "; not read: 8 child processes") {
		t.Errorf("%q (%v)", l.Followed.Conclusion, err)
	}
}

func TestAFileLockIsOneForAllProcesses(t *testing.T) {
	l := New()
	for pid := range 3 {
		w := &waits.Wait{Kind: waits.FileLock, FD: &waits.OpenFile{FD: waits.FileNumber(6 + pid), Path: "/srv/sess_u42"},
			Ownership: waits.Ownership{OwnerProcess: 9}}
		l.Processes = append(l.Processes, &stacks.Process{PID: 1 + pid,
			Threads: []stacks.Thread{{TID: 1 + pid, WaitsFor: w}}})
	}
	l.Processes[2].Threads[0].WaitsFor.OwnerProcess = 8 // of another byte range
	l.Collect()
	if len(l.Locks) != 2 || !slices.Equal(l.Locks[0].Waiters, []int{1, 2}) {
		t.Errorf("%+v, want one lock for processes 1 and 2", l.Locks)
	}
}

func TestLocksWithBlockedWaitersComeFirstThenThoseWithMoreWaiters(t *testing.T) {
	p := &stacks.Process{PID: 1}
	wait := func(address uint64, idle string) {
		w := &waits.Wait{Kind: waits.Condition, Idleness: waits.Idleness{Idle: idle}}
		w.Address = schema.Hex(address)
		p.Threads = append(p.Threads, stacks.Thread{TID: len(p.Threads) + 1, State: "S", WaitsFor: w})
	}
	wait(0x10, "rule")
	for range 2 {
		wait(0x20, "rule of a longer name")
	}
	for _, rule := range []string{"rule", "other", "other"} {
		wait(0x30, rule)
	}
	wait(0x40, "")
	l := New()
	l.Processes = []*stacks.Process{p}
	l.Collect()
	var got []uint64
	for i := range l.Locks {
		got = append(got, uint64(l.Locks[i].Address))
	}
	if want := []uint64{0x40, 0x30, 0x20, 0x10}; !slices.Equal(got, want) {
		t.Errorf("%#x, want %#x", got, want)
	}
}

func TestAReaderBehindAWaitingWriterWaitsForTheReaders(t *testing.T) {
	reads, writes := GoroutineWaiter{Goroutine: 1, Reads: true}, GoroutineWaiter{Goroutine: 2}
	for want, waiters := range [][]GoroutineWaiter{{reads}, {reads, writes}} {
		l := &Locks{GoroutineLocks: []GoroutineLock{{PID: 1, Waiters: waiters,
			Likely: []GoroutineOwner{{Goroutine: 1, Reads: true}}}}}
		if got := l.goroutineCycles(); len(got) != want {
			t.Errorf("%+v: %+v, want %d cycles", waiters, got, want)
		}
	}
}

// Two consumers wait for a wake-up that is lost, and main for the end of one.
func TestAGuessedIdleWaitAndAJoinedThreadAreNotCleared(t *testing.T) {
	guess, pool := waits.Idleness{IdleGuess: "take_job"}, waits.Idleness{Idle: waits.IdlePool}
	main := waits.Wait{Kind: waits.Join, Ownership: waits.Ownership{Owner: 2}}
	at := func(kind waits.Kind, idle waits.Idleness, owner int) waits.Wait {
		return waits.Wait{Kind: kind, Address: 0x10, Idleness: idle, Ownership: waits.Ownership{Owner: owner}}
	}
	idleJoin := at(waits.Join, waits.Idleness{Idle: waits.IdleRuntime}, 2)
	for name, c := range map[string]struct {
		threads []waits.Wait // IDs from 1 on
		verdict Verdict
		left    []int // not idle, without known owner
		idle    waits.Idleness
	}{
		"a guess": {[]waits.Wait{{Kind: waits.Signal}, at(waits.Condition, guess, 0)},
			VerdictUnknown, []int{2}, guess},
		"a rule": {[]waits.Wait{{Kind: waits.Signal}, at(waits.Condition, pool, 0)}, VerdictNone, nil, pool},
		"joined": {[]waits.Wait{main, at(waits.Condition, pool, 0)},
			VerdictUnknown, []int{2}, waits.Idleness{}},
		"joined by an idle one": {[]waits.Wait{idleJoin, at(waits.Condition, pool, 0)}, VerdictNone, nil, pool},
		"joined by a joined one": {[]waits.Wait{main, at(waits.Join, pool, 3), at(waits.Condition, pool, 0)},
			VerdictUnknown, []int{3}, waits.Idleness{}},
		"joined, it waits for a connection": {[]waits.Wait{main, at(waits.Descriptor, pool, 0)}, VerdictNone, nil, pool},
	} {
		p := &stacks.Process{PID: 1}
		for i := range c.threads {
			p.Threads = append(p.Threads, stacks.Thread{TID: i + 1, State: "S", WaitsFor: &c.threads[i]})
		}
		l := New()
		l.Processes = []*stacks.Process{p}
		l.Examine(AsRead{})
		if last := c.threads[len(c.threads)-1]; l.Verdict != c.verdict || last.Idleness != c.idle ||
			!slices.Equal(l.WaitersWithoutOwner, append([]int{}, c.left...)) {
			t.Errorf("%s: %s, %v, %+v, want %+v", name, l.Verdict, l.WaitersWithoutOwner, last.Idleness, c)
		}
	}
}

func TestAProcessesOnlyThreadIsPerhapsDeadlockedAtALockOfItsOwn(t *testing.T) {
	lock := func(kind waits.Kind, of string) waits.Wait { return waits.Wait{Kind: kind, Type: of} }
	mutex := lock(waits.Mutex, "")
	timed, free := mutex, mutex
	timed.Timed, free.Free = true, true
	for name, c := range map[string]struct {
		wait    waits.Wait
		others  int
		verdict Verdict
	}{
		"a mutex that stores no owner":   {mutex, 0, VerdictPossible},
		"malloc's lock":                  {lock(waits.LibraryLock, ""), 0, VerdictPossible},
		"threading.Lock":                 {lock(waits.Semaphore, "threading.Lock"), 0, VerdictPossible},
		"a condition of Python":          {lock(waits.Semaphore, "threading.Condition"), 0, VerdictUnknown},
		"a semaphore, posted by signals": {lock(waits.Semaphore, ""), 0, VerdictUnknown},
		"with a time-out":                {timed, 0, VerdictUnknown},
		"beside another thread":          {mutex, 1, VerdictUnknown},
		"a lock that is free":            {free, 0, VerdictNone},
	} {
		p := &stacks.Process{PID: 1, Threads: []stacks.Thread{{TID: 1, State: "S", WaitsFor: &c.wait}}}
		c.wait.Address = 0x10
		for i := range c.others {
			p.Threads = append(p.Threads, stacks.Thread{TID: 2 + i, State: "R"})
		}
		l := New()
		l.Processes = []*stacks.Process{p}
		if l.Examine(AsRead{}); l.Verdict != c.verdict || (len(l.PossibleDeadlocks) == 1) != (c.verdict == VerdictPossible) {
			t.Errorf("%s: %s, %v, want %s", name, l.Verdict, l.PossibleDeadlocks, c.verdict)
		}
	}
}

// Who is in a static initializer and does not wait for a class itself initializes it: of two that wait for each other,
// each for the other's.
func TestAClassIsInitializedByTheThreadInAStaticInitializer(t *testing.T) {
	thread := func(tid int, class uint64, function string) stacks.Thread {
		w := &waits.Wait{Kind: waits.ObjectWait, Symbol: waits.ClassInitialization, Address: schema.Hex(class)}
		if class == 0 {
			w = nil
		}
		return stacks.Thread{TID: tid, State: "S", WaitsFor: w,
			Frames: []stacks.Frame{{Place: &stacks.Place{Function: function, Kind: "jvm"}}}}
	}
	for name, c := range map[string]struct {
		threads []stacks.Thread
		cycles  [][]int
		owner   int // of the first lock
	}{
		"a cycle": {[]stacks.Thread{thread(1, 0x10, "A.<clinit>"), thread(2, 0x20, "B.<clinit>"),
			thread(3, 0x10, "Shop.rate")}, [][]int{{1, 2}}, 2},
		"a slow initializer": {[]stacks.Thread{thread(1, 0x10, "Shop.rate"), thread(2, 0, "B.<clinit>")}, nil, 2},
		"one of two": {[]stacks.Thread{thread(1, 0x10, "Shop.rate"), thread(2, 0, "B.<clinit>"),
			thread(3, 0, "C.<clinit>")}, nil, 0},
	} {
		l := New()
		l.Processes = []*stacks.Process{{PID: 1, Threads: c.threads}}
		l.Examine(AsRead{})
		likely := l.Locks[0].Likely
		if !slices.EqualFunc(l.PossibleDeadlocks, c.cycles, slices.Equal) || len(likely) == 0 ||
			c.owner != 0 && (len(likely) != 1 || likely[0].TID != c.owner) || c.owner == 0 && len(likely) != 2 {
			t.Errorf("%s: %v, %+v", name, l.PossibleDeadlocks, likely)
		}
	}
}
