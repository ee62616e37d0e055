// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"testing"

	"golang.org/x/sys/unix"

	"prywalk/internal/host/procmem"
)

func TestRankOfPolicies(t *testing.T) {
	procmem.OnOSThread(func() {
		for want, policies := range map[bool][]int{
			true:  {unix.SCHED_FIFO, unix.SCHED_RR, unix.SCHED_DEADLINE},
			false: {unix.SCHED_NORMAL, unix.SCHED_BATCH, unix.SCHED_IDLE},
		} {
			for _, policy := range policies {
				if got := outranksCaller(&procmem.Stat{Policy: policy, RTPriority: 1}); got != want {
					t.Errorf("policy %d: %v", policy, got)
				}
			}
		}
	})
}

func TestRankOfRealTimePriorities(t *testing.T) {
	refused := false
	procmem.OnOSThread(func() {
		const own = 10
		attr := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Priority: own}
		if refused = unix.SchedSetAttr(0, &attr, 0) != nil; refused {
			return
		}
		for _, policy := range []int{unix.SCHED_FIFO, unix.SCHED_RR} {
			for priority, want := range map[int]bool{own - 1: false, own: true, own + 1: true} {
				if got := outranksCaller(&procmem.Stat{Policy: policy, RTPriority: priority}); got != want {
					t.Errorf("policy %d, priority %d beside %d: %v", policy, priority, own, got)
				}
			}
		}
	})
	if refused {
		t.Skip("needs a real-time priority: sudo make test")
	}
}
