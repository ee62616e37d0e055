// SPDX-License-Identifier: Apache-2.0

package text

import (
	"strings"
	"testing"

	"prywalk/internal/show/dump/locks"
	"prywalk/internal/show/dump/stacks"
)

func TestPossibleDeadlocksOfGoroutinesAreListedByOwner(t *testing.T) {
	lock := func(pid int, symbol, runtime string, waiter uint64, owners ...uint64) locks.GoroutineLock {
		l := locks.GoroutineLock{PID: pid, Runtime: runtime, Kind: "sync.Mutex", Address: 0x10, Symbol: symbol,
			Waiters: []locks.GoroutineWaiter{{Goroutine: waiter, In: "main.buy:12"}}}
		for _, o := range owners {
			l.Likely = append(l.Likely, locks.GoroutineOwner{Goroutine: o, Evidence: "it called Lock"})
		}
		return l
	}
	l := &locks.Locks{
		Processes: []*stacks.Process{{PID: 7}},
		GoroutineLocks: []locks.GoroutineLock{lock(7, "a", "", 1, 2), lock(7, "b", "", 2, 1),
			lock(8, "other process", "", 1, 2), lock(7, "other runtime", "x.so", 1, 2), lock(7, "other waiter", "", 3, 2),
			lock(7, "several owners", "", 1, 2, 3), lock(7, "other owner", "", 1, 3)},
		PossibleGoroutineDeadlocks: []locks.GoroutineCycle{{PID: 7, Goroutines: []uint64{1, 2}}},
	}
	l.GoroutineLocks[1].Waiters[0].In = ""
	const want = `
POSSIBLE DEADLOCK: 2 goroutines wait for each other, if the inferred owners are right
  goroutine 1
      waits for sync.Mutex a (0x10), in main.buy:12
      likely held by goroutine 2: it called Lock
  goroutine 2
      waits for sync.Mutex b (0x10)
      likely held by goroutine 1: it called Lock
`
	var b strings.Builder
	if writeGoroutineDeadlocks(&b, l); b.String() != want {
		t.Errorf("%s\nwant\n%s", b.String(), want)
	}
	l.GoroutineDeadlocks = []locks.GoroutineDeadlock{{PID: 7, Runtime: "x.so", Reason: stacks.Leaked,
		Waiters: []locks.GoroutineWaiter{{Goroutine: 9, In: "main.wait:3"}}}}
	b.Reset()
	const leaked = "\nDEADLOCK: nothing can wake 1 goroutine of process 7 in x.so: "
	if writeGoroutineDeadlocks(&b, l); !strings.HasPrefix(b.String(), leaked) ||
		!strings.Contains(b.String(), ", as Go's garbage collector has found\n  waiting for ever: goroutine 9\n") {
		t.Errorf("%s", b.String())
	}
}

func TestLocksOfGoroutinesHaveTheirLikelyOwners(t *testing.T) {
	owner := stacks.Goroutine{ID: 2}
	l := &locks.Locks{Processes: []*stacks.Process{{PID: 7, GoroutineStacks: []stacks.Goroutine{owner}}},
		GoroutineLocks: []locks.GoroutineLock{
			{PID: 7, Kind: "sync.RWMutex", Address: 0x10, Likely: []locks.GoroutineOwner{
				{Goroutine: 2, Reads: true, Evidence: "it called RLock"}, {Goroutine: 99, Evidence: "it called Lock"}}},
			{PID: 7, Kind: "sync.Mutex", Address: 0x20, Runtime: "x.so"},
			{PID: 7, Kind: "sync.WaitGroup", Address: 0x30},
			{PID: 7, Kind: stacks.KindChannel, Address: 0x40},
		}}
	var b strings.Builder
	writeGoroutineLocks(&b, l)
	text := b.String()
	for _, want := range []string{"\nsync.RWMutex 0x10\n  likely held for reading by goroutine 2, ",
		"\n      it called RLock\n",
		"  likely held by goroutine 99\n      it called Lock\n",
		"\nsync.Mutex 0x20, of x.so\n  owner not known: no stack shows which goroutine holds it\n",
		"\nsync.WaitGroup 0x30\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("%s\nhas no %q", text, want)
		}
	}
	if strings.Contains(text, "0x40") || strings.Count(text, "owner not known") != 1 {
		t.Error(text)
	}
}
