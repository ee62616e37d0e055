// SPDX-License-Identifier: Apache-2.0

package selfruntime

import (
	"os"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

func attributes(t *testing.T, tid int) unix.SchedAttr {
	a, err := unix.SchedGetAttr(tid, 0)
	if err != nil {
		t.Fatal(err)
	}
	return *a
}

func mayRaisePriority(t *testing.T) bool {
	was := attributes(t, 0)
	defer func() { _ = unix.SchedSetAttr(0, &was, 0) }()
	a := unix.SchedAttr{
		Size: unix.SizeofSchedAttr, Policy: unix.SCHED_NORMAL, Nice: bestNice, Flags: unix.SCHED_FLAG_RESET_ON_FORK,
	}
	return was.Policy == unix.SCHED_NORMAL && unix.SchedSetAttr(0, &a, 0) == nil
}

func TestThreadsHaveTheBestNiceValueUntilItIsUndone(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	may := mayRaisePriority(t)
	tids := []int{unix.Gettid(), os.Getpid()}
	var before [2]unix.SchedAttr
	for i, tid := range tids {
		before[i] = attributes(t, tid)
	}
	undo := raisePriority()
	for _, tid := range tids {
		if now := attributes(t, tid); may && now.Nice != bestNice {
			t.Errorf("thread %d has the nice value %d, want %d", tid, now.Nice, bestNice)
		}
	}
	undo()
	for i, tid := range tids {
		if now := attributes(t, tid); now != before[i] {
			t.Errorf("thread %d: attributes %+v before, %+v after; want the same", tid, before[i], now)
		}
	}
}

func TestThreadOfAnotherPolicyIsNotChanged(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	was := attributes(t, 0)
	defer func() { _ = unix.SchedSetAttr(0, &was, 0) }()
	batch := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_BATCH, Nice: was.Nice}
	if err := unix.SchedSetAttr(0, &batch, 0); err != nil {
		t.Fatal(err)
	}
	undo := raisePriority()
	if a := attributes(t, 0); a.Policy != unix.SCHED_BATCH || a.Nice != was.Nice {
		t.Errorf("attributes %+v, want SCHED_BATCH and nice %d", a, was.Nice)
	}
	undo()
	if a := attributes(t, 0); a.Policy != unix.SCHED_BATCH || a.Nice != was.Nice {
		t.Errorf("attributes %+v afterwards, want SCHED_BATCH and nice %d", a, was.Nice)
	}
}
