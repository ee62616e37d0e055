// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"testing"

	"golang.org/x/sys/unix"
)

func TestQuotaIsUsedOnOneProcessorAfterTheOther(t *testing.T) {
	u := &Quota{cpu: -1}
	if err := unix.SchedGetaffinity(0, &u.all); err != nil || u.all.Count() < 2 {
		t.Skip("it takes two processors")
	}
	defer onAllThreads(&u.all)
	if !u.OnlyOnProcessors() {
		t.Error("threads that are queued are asked to stop")
	}
	if u.MoveIfDue(0) || !u.pin() {
		t.Fatal("not on one processor")
	}
	seen := map[int]bool{}
	for range u.all.Count() {
		u.last.Periods += movesAfter - 1
		if at := u.cpu; u.MoveIfDue(0) || u.cpu != at {
			t.Error("moved too soon")
		}
		u.last.Periods++
		if u.MoveIfDue(1) {
			t.Error("moved while a thread was asked to stop")
		}
		var now unix.CPUSet
		moved := u.MoveIfDue(0) && unix.SchedGetaffinity(0, &now) == nil
		if !moved || now.Count() != 1 || !now.IsSet(u.cpu) || !u.all.IsSet(u.cpu) {
			t.Fatalf("on %v, not on %d", now, u.cpu)
		}
		seen[u.cpu] = true
	}
	if len(seen) != u.all.Count() {
		t.Errorf("on %d of %d processors", len(seen), u.all.Count())
	}
	var none *Quota
	if none.MoveIfDue(0) || none.OnlyOnProcessors() {
		t.Error("without a quota")
	}
	if one := (&Quota{cpu: 0}); one.OnlyOnProcessors() {
		t.Error("on a single processor all others are queued")
	}
}
