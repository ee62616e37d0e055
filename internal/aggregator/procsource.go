// SPDX-License-Identifier: Apache-2.0

package aggregator

import (
	"golang.org/x/sys/unix"

	"prywalk/internal/attribute"
	"prywalk/internal/procmem"
)

const sigChild = 1 << (17 - 1) // SIGCHLD in a signal set

type procFS struct{}

// State implements [attribute.ProcSource].
func (procFS) State(pid int) (attribute.ProcState, bool) {
	var s procmem.Stat
	if procmem.ReadStat(pid, &s) != nil {
		return attribute.ProcState{}, false
	}
	return attribute.ProcState{
		Start: s.StartTime, Parent: s.PPID, ChildrenCPU: int64(s.ChildUTime+s.ChildSTime) * procmem.ClockTick,
		Zombie: s.Ended(),
	}, true
}

// IgnoresChildren implements [attribute.ProcSource].
func (procFS) IgnoresChildren(pid int) bool {
	var s procmem.Status
	return procmem.ReadStatus(pid, &s) == nil && s.SigIgn&sigChild != 0
}

// ExactChildrenCPU implements [attribute.ProcSource] for children of prywalk, by waitid with WNOWAIT.
func (procFS) ExactChildrenCPU(pid int) int64 {
	var both unix.Rusage
	if unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, &both) != nil {
		return 0
	}
	own, err := procmem.ProcessCPU(pid)
	if err != nil {
		return 0
	}
	return both.Utime.Nano() + both.Stime.Nano() - int64(own)
}
