// SPDX-License-Identifier: Apache-2.0

package skid

import (
	"golang.org/x/sys/unix"

	"prywalk/internal/procmem"
)

// OutranksCaller reports whether a thread runs before the calling one on the same CPU (sched(7)): it has a real-time
// policy, and the caller has none or no higher priority.
func OutranksCaller(st *procmem.Stat) bool {
	switch st.Policy {
	case unix.SCHED_DEADLINE:
		return true
	case unix.SCHED_FIFO, unix.SCHED_RR:
	default:
		return false
	}
	own, err := unix.SchedGetAttr(0, 0)
	if err != nil {
		return false
	}
	isRealTime := own.Policy == unix.SCHED_FIFO || own.Policy == unix.SCHED_RR
	return !isRealTime || int(own.Priority) <= st.RTPriority
}
