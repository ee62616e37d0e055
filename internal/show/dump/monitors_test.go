// SPDX-License-Identifier: Apache-2.0

package dump

import (
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"prywalk/internal/show/dump/sleepers"
	"prywalk/internal/testtargets"
	"prywalk/internal/walk/waits"
)

// Most waiters have run before the JVM is asked. An owner is unknown only if the waiter runs, has run in each of its
// retries, too, or no more are left for all waiters, which happens on a busy machine.
func TestOwnersOfMoreMonitorsThanRetriesAreKnown(t *testing.T) {
	const monitors = 5 * maxWaitRetries
	argv := append(java(t, "Monitors.java"), strconv.Itoa(monitors))
	cmd := exec.Command(argv[0], argv[1:]...)
	testtargets.Ready(t, cmd)
	retries, counted := map[int]int{}, 0
	p := sampleBy(t, cmd.Process.Pid, Options{MaxDepth: 64, waitRetried: func(tid int, runs uint64, again bool) {
		if retries[tid]++; retries[tid] > 1 {
			counted++
		}
		if again && sleepers.RunsOf(cmd.Process.Pid, tid) == runs {
			t.Errorf("the owner for thread %d is not known, though it has not run since its sample", tid)
		}
	}})
	waiters, known := 0, 0
	for i := range p.Threads {
		th := &p.Threads[i]
		if !strings.HasPrefix(th.Name, "waiter-") {
			continue
		}
		waiters++
		if w := th.WaitsFor; w != nil && w.Kind == waits.Monitor && w.Owner != 0 {
			known++
		} else if th.State != "R" && retries[th.TID] < maxThreadRetries && counted < maxWaitRetries {
			t.Errorf("the owner for thread %d is not known after %d retries, and %d of all threads: state %s, it waits for %+v",
				th.TID, retries[th.TID], counted, th.State, th.WaitsFor)
		}
	}
	t.Logf("the owners of %d of %d monitors are known; %d retries beyond the first ones", known, monitors, counted)
	// Once the retries are used up, no exact rule holds for the others. On a quiet host all owners are known.
	if waiters != monitors || known < maxWaitRetries {
		t.Errorf("%d threads wait, the owners of %d are known, want all and at least %d", waiters, known, maxWaitRetries)
	}
}

// References of threads that do not run stay stale after a collection of ZGC.
func TestOwnersOfLocksThatZGCHasMovedAreKnown(t *testing.T) {
	argv := java(t, "Moved.java")
	cmd := exec.Command(argv[0], "-XX:+UseZGC", "-Xmx200m", argv[1])
	testtargets.Ready(t, cmd)
	// On a busy host the retries of a dump may be used up while threads run.
	testtargets.Eventually(t, "2 waits of park and 2 of a monitor have an owner", func() bool {
		p := sampleOf(t, cmd.Process.Pid, 64)
		owned := map[waits.Kind]int{}
		for i := range p.Threads {
			th := &p.Threads[i]
			if w := th.WaitsFor; w != nil && w.Owner != 0 && w.OwnerName == th.Name && w.Symbol != "" {
				owned[w.Kind]++
			}
		}
		return owned[waits.Park] == 2 && owned[waits.Monitor] == 2
	})
}
