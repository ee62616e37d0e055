// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"testing"

	"golang.org/x/sys/unix"
)

func TestQuotaIsUsedOnOneProcessorAfterTheOther(t *testing.T) {
	u := &Quota{at: -1}
	if err := unix.SchedGetaffinity(0, &u.all); err != nil || u.all.Count() < 2 {
		t.Skip("it takes two processors")
	}
	defer onAllThreads(&u.all)
	if !u.Careful() {
		t.Error("threads that are queued are asked to stop")
	}
	if u.Moves(0) || !u.pin() {
		t.Fatal("not on one processor")
	}
	seen := map[int]bool{}
	for range u.all.Count() {
		u.last.Periods += movesAfter - 1
		if at := u.at; u.Moves(0) || u.at != at {
			t.Error("moved too soon")
		}
		u.last.Periods++
		if u.Moves(1) {
			t.Error("moved while a thread was asked to stop")
		}
		var now unix.CPUSet
		moved := u.Moves(0) && unix.SchedGetaffinity(0, &now) == nil
		if !moved || now.Count() != 1 || !now.IsSet(u.at) || !u.all.IsSet(u.at) {
			t.Fatalf("on %v, not on %d", now, u.at)
		}
		seen[u.at] = true
	}
	if len(seen) != u.all.Count() {
		t.Errorf("on %d of %d processors", len(seen), u.all.Count())
	}
	var none *Quota
	if none.Moves(0) || none.Careful() {
		t.Error("without a quota")
	}
	if one := (&Quota{at: 0}); one.Careful() {
		t.Error("on a single processor all others are queued")
	}
}
