// SPDX-License-Identifier: Apache-2.0

package dump

import (
	"os/exec"
	"slices"
	"testing"
	"time"

	"prywalk/internal/code/loadedcode"
	"prywalk/internal/code/symbols"
	"prywalk/internal/host/procmem"
	"prywalk/internal/show/dump/locks"
	"prywalk/internal/show/dump/sleepers"
	"prywalk/internal/show/dump/stacks"
	"prywalk/internal/testtargets"
	"prywalk/internal/walk/waits"
	"prywalk/internal/watch/observe"
)

func TestALockIsReadByAWaiterThatStillWaitsForIt(t *testing.T) {
	monitor := func(owner int) waits.Wait { return waits.ManagedWait(waits.Monitor, "Object", 0x100, owner, false) }
	elsewhere := waits.ManagedWait(waits.ObjectWait, "Queue", 0x200, 0, false)
	const first, second, owner = 11, 12, 13
	for _, c := range []struct {
		answers [2]waits.Wait
		owner   int
		why     string
	}{
		{[2]waits.Wait{elsewhere, monitor(owner)}, owner, ""},
		{[2]waits.Wait{monitor(owner), elsewhere}, owner, ""},
		{[2]waits.Wait{elsewhere, elsewhere}, 0, "the threads that waited for it went on"},
	} {
		slept := map[int]*waits.Sleeper{}
		for i, w := range c.answers {
			slept[first+i] = &waits.Sleeper{State: 'S', Reason: "futex", InCall: true,
				Managed: func() (waits.Wait, bool) { return w, true }}
		}
		of := &examinedProcess{process: &stacks.Process{PID: 1, Sleepers: slept}, explainer: &sleepers.Explainer{
			Owners: sameThreads{}, Name: func(int) string { return "holder" },
			Read: func(uint64, []byte) int { return 0 },
		}}
		l := &lockExaminer{locks: locks.New(), byThread: map[int]*examinedProcess{first: of, second: of}}
		lock := &locks.Lock{Wait: monitor(owner), Waiters: []int{first, second}}
		now := l.readLock(lock)
		if !isSame(&now, lock) || now.Owner != c.owner || now.Why != c.why || now.Free != (c.owner == 0) {
			t.Errorf("%+v: %+v", c, now)
		}
	}
}

func TestALockIsReadAgainWhileItsWaiterIsAwake(t *testing.T) {
	monitor := waits.ManagedWait(waits.Monitor, "Object", 0x100, 13, false)
	elsewhere := waits.ManagedWait(waits.ObjectWait, "Queue", 0x200, 0, false)
	owned := waits.Ownership{Owner: 13, OwnerName: "holder"}
	awakeAlways := waits.Ownership{Why: "its waiters were awake at each reading"}
	for _, c := range []struct {
		awake, retries int // readings at which the waiter is awake, retries for other locks
		then           waits.Wait
		want           waits.Ownership
		readings       int
	}{
		{awake: maxOwnerSamples - 1, then: monitor, want: owned, readings: maxOwnerSamples},
		{awake: maxOwnerSamples, then: monitor, want: awakeAlways, readings: maxOwnerSamples},
		{awake: 1, then: elsewhere, want: waits.Ownership{Free: true, Why: "the threads that waited for it went on"},
			readings: 2},
		{awake: 1, retries: maxWaitRetries - 1, then: monitor, want: owned, readings: 2},
		{awake: 1, retries: maxWaitRetries, then: monitor, want: awakeAlways, readings: 1},
	} {
		explainer := &sleepers.Explainer{Owners: sameThreads{}, Name: func(int) string { return "holder" },
			Read: func(uint64, []byte) int { return 0 }}
		readings := 0
		slept := map[int]*waits.Sleeper{11: {State: 'S', Reason: "futex", InCall: true, Managed: func() (waits.Wait, bool) {
			readings++
			explainer.Retryable = readings <= c.awake
			return c.then, !explainer.Retryable
		}}}
		of := &examinedProcess{process: &stacks.Process{PID: 1, Sleepers: slept}, explainer: explainer}
		l := &lockExaminer{locks: locks.New(), byThread: map[int]*examinedProcess{11: of}, retries: c.retries}
		lock := &locks.Lock{Wait: monitor, Waiters: []int{11}}
		now := l.readLock(lock)
		if !isSame(&now, lock) || now.Owner != c.want.Owner || now.OwnerName != c.want.OwnerName ||
			now.Why != c.want.Why || now.Free != c.want.Free || readings != c.readings {
			t.Errorf("%+v: %+v after %d readings", c, now.Ownership, readings)
		}
	}
}

func TestADeadlockIsFoundThoughAnOwnerWasAwake(t *testing.T) {
	cmd := exec.Command(compile(t, "awakeowner.c", "-pthread", "-O1"))
	in, out := testtargets.Talk(t, cmd)
	if _, err := out.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	target, err := loadedcode.Open(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	names := symbols.NewNamer()
	defer names.Close()
	var e *lockExaminer
	testtargets.Eventually(t, "one thread waits for the one that computes", func() bool {
		e = &lockExaminer{locks: locks.New(), options: Options{MaxDepth: -1, Names: names},
			byPID: map[int]*examinedProcess{}, byThread: map[int]*examinedProcess{}}
		if err := e.sampleProcesses([]*loadedcode.Process{target}); err != nil {
			t.Fatal(err)
		}
		return len(e.awakeOwners(map[int]bool{})) == 1
	})
	owner := e.awakeOwners(map[int]bool{})[0]
	if _, err := in.Write([]byte{'\n'}); err != nil {
		t.Fatal(err)
	}
	testtargets.Eventually(t, "the owner waits", func() bool {
		var s procmem.Stat
		return procmem.ReadStat(owner, &s) == nil && s.State == 'S'
	})
	e.resampleAwakeOwners()
	if e.locks.Examine(e); e.locks.Verdict != locks.VerdictDeadlock {
		t.Errorf("verdict %q, %+v; want a deadlock", e.locks.Verdict, e.locks.Locks)
	}
}

func TestAwakeOwnersAreThoseOfLocks(t *testing.T) {
	e := &lockExaminer{locks: locks.New()}
	e.locks.Processes = []*stacks.Process{{PID: 1, Threads: []stacks.Thread{
		{TID: 1, WaitsFor: &waits.Wait{Kind: waits.Mutex, Ownership: waits.Ownership{Owner: 2}}},
		{TID: 2, State: "R"},
		{TID: 3, WaitsFor: &waits.Wait{Kind: waits.GIL, Ownership: waits.Ownership{Owner: 4}}},
		{TID: 4, State: "R"},
		{TID: 5, WaitsFor: &waits.Wait{Kind: waits.Mutex, Ownership: waits.Ownership{Owner: 6}}},
		{TID: 6, State: "S"},
		{TID: 7, WaitsFor: &waits.Wait{Kind: waits.Condition}},
	}}}
	if got := e.awakeOwners(map[int]bool{}); !slices.Equal(got, []int{2}) {
		t.Errorf("%v, want 2", got)
	}
}

func TestAWaiterThatHasGotTheLockWaitsNoLonger(t *testing.T) {
	this := waits.Wait{Kind: waits.Mutex, Address: 0x100}
	other := waits.Wait{Kind: waits.Mutex, Address: 0x200}
	for _, c := range []struct {
		waiters []int
		now     *waits.Wait
		want    []int
	}{
		{[]int{1, 2, 3}, nil, []int{1, 3}},
		{[]int{1, 2, 3}, &other, []int{1, 3}},
		{[]int{1, 2, 3}, &this, []int{1, 2, 3}}, // it has locked it twice
		{[]int{2}, nil, []int{2}},
	} {
		lock := &locks.Lock{Wait: this, Waiters: c.waiters}
		setOwnerThread(lock, &stacks.Thread{TID: 2, WaitsFor: c.now})
		if !slices.Equal(lock.Waiters, c.want) {
			t.Errorf("now %v: waiters %v, want %v", c.now, lock.Waiters, c.want)
		}
	}
}

type sameThreads struct{}

func (sameThreads) Thread(innerTID int, _ bool) (int, bool) { return innerTID, true }

func (sameThreads) Parent(int) int { return 0 }

func TestMaxPauseShortensTheCopiesOfOwners(t *testing.T) {
	cmd := exec.Command(compile(t, "deep.c", "-O1", "-fno-optimize-sibling-calls", "-pthread"))
	testtargets.Ready(t, cmd)
	allSleep(t, cmd.Process.Pid)
	target, err := loadedcode.Open(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	tids, err := target.Threads(nil)
	if err != nil || len(tids) != 2 {
		t.Fatalf("threads %d: %v", tids, err)
	}
	copied := func(o Options) int64 {
		owner := o.newThread(target, tids[1])
		defer owner.Close()
		s, err := sampleThread(owner, o, observe.ModeAlwaysRead)
		if s == nil || err != nil {
			t.Fatalf("sample %v: %v", s, err)
		}
		return s.Copied()
	}
	const limit = 100 * time.Microsecond
	most := int64(limit) * copySpeed
	if whole, limited := copied(Options{}), copied(Options{MaxPause: limit}); limited > most || whole <= most {
		t.Errorf("%d bytes were copied with a limit of %v, %d without", limited, limit, whole)
	}
}
