// SPDX-License-Identifier: Apache-2.0

package accountant

import (
	"golang.org/x/sys/unix"

	"prywalk/internal/attribute"
	"prywalk/internal/procmem"
)

const (
	// clockTick is the unit of times in /proc/PID/stat, in nanoseconds.
	clockTick = 1e9 / 100
	// sigChild is the bit of SIGCHLD in a set of signals.
	sigChild = 1 << (17 - 1)
)

// kernel reads below /proc what the attribution asks for.
type kernel struct{}

// Relative implements [attribute.Relatives].
func (kernel) Relative(pid int) (attribute.Relative, bool) {
	var s procmem.Stat
	if procmem.ReadStat(pid, &s) != nil {
		return attribute.Relative{}, false
	}
	return attribute.Relative{
		Start: s.StartTime, Parent: s.PPID, ChildrenCPU: int64(s.ChildUTime+s.ChildSTime) * clockTick,
		Zombie: s.State == 'Z',
	}, true
}

// IgnoresChildren implements [attribute.Relatives].
func (kernel) IgnoresChildren(pid int) bool {
	var s procmem.Status
	return procmem.ReadStatus(pid, &s) == nil && s.SigIgn&sigChild != 0
}

// ExactChildrenCPU implements [attribute.Relatives] for children of this process: a wait that leaves the child a
// zombie gives its and its children's time to the microsecond, /proc to hundredths of a second.
func (kernel) ExactChildrenCPU(pid int) int64 {
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
