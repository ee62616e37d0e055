// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"testing"

	"golang.org/x/sys/unix"

	"prywalk/internal/host/procmem"
)

func TestRankOfPoliciesAndRealTimePriorities(t *testing.T) {
	type rank = procmem.Stat
	ordinary, ten := rank{}, rank{Policy: unix.SCHED_FIFO, RTPriority: 10}
	for _, c := range []struct {
		thread, tracer rank
		want           bool
	}{
		{rank{Policy: unix.SCHED_FIFO, RTPriority: 1}, ordinary, true},
		{rank{Policy: unix.SCHED_RR, RTPriority: 1}, ordinary, true},
		{rank{Policy: unix.SCHED_DEADLINE}, ordinary, true},
		{rank{Policy: unix.SCHED_NORMAL}, ordinary, false},
		{rank{Policy: unix.SCHED_BATCH}, ordinary, false},
		{rank{Policy: unix.SCHED_IDLE}, ordinary, false},
		{rank{Policy: unix.SCHED_FIFO, RTPriority: 9}, ten, false},
		{rank{Policy: unix.SCHED_RR, RTPriority: 9}, ten, false},
		{rank{Policy: unix.SCHED_FIFO, RTPriority: 10}, ten, true},
		{rank{Policy: unix.SCHED_RR, RTPriority: 10}, ten, true},
		{rank{Policy: unix.SCHED_FIFO, RTPriority: 11}, ten, true},
		{rank{Policy: unix.SCHED_DEADLINE}, ten, true},
	} {
		if got := runsBefore(&c.thread, &c.tracer); got != c.want {
			t.Errorf("policy %d, priority %d beside policy %d, priority %d: %v", c.thread.Policy, c.thread.RTPriority,
				c.tracer.Policy, c.tracer.RTPriority, got)
		}
	}
}
