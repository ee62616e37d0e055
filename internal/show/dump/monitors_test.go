// SPDX-License-Identifier: Apache-2.0

package dump

import (
	"os/exec"
	"strconv"
	"testing"

	"prywalk/internal/testtargets"
	"prywalk/internal/walk/waits"
)

// Most waiters have run before the JVM is asked. On a busy machine up to 12 % ran in each retry, too.
func TestOwnersOfMoreMonitorsThanRetriesAreKnown(t *testing.T) {
	const monitors = 5 * maxWaitRetries
	argv := append(java(t, "Monitors.java"), strconv.Itoa(monitors))
	cmd := exec.Command(argv[0], argv[1:]...)
	testtargets.Ready(t, cmd)
	p := sampleOf(t, cmd.Process.Pid, 64)
	known := 0
	for i := range p.Threads {
		if w := p.Threads[i].WaitsFor; w != nil && w.Kind == waits.Monitor && w.Owner != 0 {
			known++
		}
	}
	t.Logf("the owners of %d of %d monitors are known", known, monitors)
	if known < monitors/2 {
		t.Errorf("most owners are unknown; retries: %d", maxWaitRetries)
	}
}

// References of threads that do not run stay stale after a collection of ZGC.
func TestOwnersOfLocksThatZGCHasMovedAreKnown(t *testing.T) {
	argv := java(t, "Moved.java")
	cmd := exec.Command(argv[0], "-XX:+UseZGC", "-Xmx200m", argv[1])
	testtargets.Ready(t, cmd)
	p := sampleOf(t, cmd.Process.Pid, 64)
	owned := map[waits.Kind]int{}
	for i := range p.Threads {
		th := &p.Threads[i]
		if w := th.WaitsFor; w != nil && w.Owner != 0 && w.OwnerName == th.Name && w.Symbol != "" {
			owned[w.Kind]++
		}
	}
	if owned[waits.Park] != 2 || owned[waits.Monitor] != 2 {
		t.Errorf("waits with an owner: %v, want 2 park, 2 monitor", owned)
	}
}
