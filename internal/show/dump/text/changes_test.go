// SPDX-License-Identifier: Apache-2.0

package text

import (
	"strings"
	"testing"

	"prywalk/internal/show/dump/changes"
)

func TestChangesAreListedByWhatBecameOfThreads(t *testing.T) {
	c := &changes.Changes{Conclusion: "DEADLOCK of 2 threads", PID: 7, Name: "shop", Unread: 2, Cycles: [][]int{{11,
		12}, {13}},
		Threads: []changes.Thread{
			{TID: 11, Name: "buy", Change: changes.NotRun, From: "lock", To: "lock", WaitsFor: "mutex 0x10"},
			{TID: 12, Name: "buy", Change: changes.NotRun, From: "lock", To: "lock", WaitsFor: "mutex 0x10"},
			{TID: 13, Name: "", Change: changes.NotRun, From: "poll", To: "poll", Idle: "event loop"},
			{TID: 14, Name: "net", Change: changes.Moved, From: "read", To: "write", Runs: 3},
			{TID: 15, Name: "cpu", Change: changes.Moved, From: "work", To: "work", Runs: 1},
			{TID: 16, Name: "odd", Change: changes.Moved, To: "work"},
			{TID: 17, Name: "old", Change: changes.Ended, From: "read", WaitsFor: "socket"},
			{TID: 18, Name: "new", Change: changes.New, WaitsFor: "mutex 0x20"},
		},
		NewWaiters: []changes.Edge{{Waiter: 18, Owner: 99, Object: "mutex 0x20", Place: "save"}},
		StayedEdges: []changes.Edge{{Waiter: 11, Owner: 12, Object: "mutex 0x10", NotRun: true}, {Waiter: 12,
			Object: "rwlock 0x30"}},
	}
	for range maxShown + 1 {
		c.Grew = append(c.Grew, changes.Growth{Kind: "goroutine", Before: 1, After: 9, Place: "serve", CreatedBy: "accept"})
	}
	c.Grew[1] = changes.Growth{Kind: "task", Before: 0, After: 1}
	var b strings.Builder
	if err := WriteChanges(&b, c); err != nil {
		t.Fatal(err)
	}
	want := `DEADLOCK of 2 threads
process 7 shop

DEADLOCK: 2 threads wait for each other
  thread 11 buy
  thread 12 buy

DEADLOCK: a thread waits for a lock that it holds itself
  thread 13

not run (proven by equal run counts): 3 threads
  11 buy, 12 buy: in lock, waits for mutex 0x10
  13: in poll [idle: event loop]

moved: 3 threads
  14 net: from read to write, put on a CPU 3 times
  15 cpu: in work, by other callers or at another instruction, put on a CPU 1 time
  16 odd: from a place without a name to work

new: 1 thread
  18 new: in a place without a name, waits for mutex 0x20

ended: 1 thread
  17 old: was in read

wait for another thread now, and did not before: 1 thread
  thread 18 new waits for mutex 0x20, held by thread 99, in save

waited for the same thing, with the same owner, both times: 2 threads
  thread 11 buy waits for mutex 0x10, held by thread 12 buy; neither has run
  thread 12 buy waits for rwlock 0x30

more than before, by stack:
  1 → 9 goroutines in serve, created by accept
  0 → 1 task in a place without a name
` + strings.Repeat("  1 → 9 goroutines in serve, created by accept\n", maxShown-2) + `  … 1 other stack

2 threads could not be read: what is called ended may be among them
`
	if b.String() != want {
		t.Errorf("%s\nwant\n%s", b.String(), want)
	}
}
