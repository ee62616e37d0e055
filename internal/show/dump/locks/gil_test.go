// SPDX-License-Identifier: Apache-2.0

package locks

import (
	"slices"
	"testing"

	"prywalk/internal/base/schema"
	"prywalk/internal/show/dump/stacks"
	"prywalk/internal/walk/waits"
)

func waiterForGIL(tid int, address schema.Hex, owner int) stacks.Thread {
	return stacks.Thread{TID: tid, State: "S", WaitsFor: &waits.Wait{Kind: waits.GIL, Address: address,
		Ownership: waits.Ownership{Owner: owner, Free: owner == 0}}}
}

// A GIL that is being passed on shows no address, or no owner.
func TestTheGILIsOneLockWhoeverHoldsIt(t *testing.T) {
	l := &Locks{Processes: []*stacks.Process{
		{PID: 1, Threads: []stacks.Thread{waiterForGIL(2, 0, 0), waiterForGIL(3, 64, 0), waiterForGIL(4, 64, 9),
			waiterForGIL(5, 0, 0)}},
		{PID: 10, Threads: []stacks.Thread{waiterForGIL(12, 64, 0), waiterForGIL(13, 128, 0), waiterForGIL(14, 0, 0)}},
	}}
	l.Collect()
	var of []int
	for _, lock := range l.Locks {
		of = append(of, lock.PID)
	}
	if want := []int{1, 10, 10, 10}; !slices.Equal(of, want) { // which of the two GILs of 10 is not known
		t.Fatalf("locks of processes %v, want %v", of, want)
	}
	lock := &l.Locks[0]
	slices.Sort(lock.Waiters)
	if lock.Owner != 9 || !slices.Equal(lock.Waiters, []int{2, 3, 4, 5}) {
		t.Errorf("%+v", lock)
	}
}
