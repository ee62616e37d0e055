// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"testing"

	"golang.org/x/sys/unix"
)

func TestQuotaIsUsedOnOneCPUAfterTheOther(t *testing.T) {
	u := &quota{onlyCPU: -1}
	if err := unix.SchedGetaffinity(0, &u.allCPUs); err != nil || u.allCPUs.Count() < 2 {
		t.Skip("needs two CPUs: a machine with more")
	}
	defer setAffinityOfAllThreads(&u.allCPUs)
	if !u.mustStopOnlyOnCPU() {
		t.Error("stops of queued threads are requested")
	}
	if u.moveIfDue(0) || !u.pinToCurrentCPU() {
		t.Fatal("not on one CPU")
	}
	seen := map[int]bool{}
	for range u.allCPUs.Count() {
		u.last.Periods += periodsOnCPU - 1
		if at := u.onlyCPU; u.moveIfDue(0) || u.onlyCPU != at {
			t.Error("moved too soon")
		}
		u.last.Periods++
		if u.moveIfDue(1) {
			t.Error("moved while a stop was pending")
		}
		var now unix.CPUSet
		moved := u.moveIfDue(0) && unix.SchedGetaffinity(0, &now) == nil
		if !moved || now.Count() != 1 || !now.IsSet(u.onlyCPU) || !u.allCPUs.IsSet(u.onlyCPU) {
			t.Fatalf("on %v, not on %d", now, u.onlyCPU)
		}
		seen[u.onlyCPU] = true
	}
	if len(seen) != u.allCPUs.Count() {
		t.Errorf("on %d of %d CPUs", len(seen), u.allCPUs.Count())
	}
	var none *quota
	if none.moveIfDue(0) || none.mustStopOnlyOnCPU() {
		t.Error("without a quota")
	}
	if one := (&quota{onlyCPU: 0}); one.mustStopOnlyOnCPU() {
		t.Error("on a single CPU all others are queued")
	}
}
