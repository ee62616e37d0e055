// SPDX-License-Identifier: Apache-2.0

package procmem

import (
	"math"
	"syscall"
	"time"

	"prywalk/internal/base/errs"
	"prywalk/internal/base/monotonic"

	"golang.org/x/sys/unix"
)

// Clock ids: ~pid<<3 | kind (include/linux/posix-timers.h, CPUCLOCK_*).
const (
	cpuClockSched  = 2
	cpuClockThread = 4

	pidMax = 1 << 22 // PID_MAX_LIMIT, include/linux/threads.h
)

// Now returns CLOCK_MONOTONIC in ns, without a system call.
//
//go:nosplit
func Now() int64 { return nanotime() }

// Moment is [Now].
//
//go:nosplit
func Moment() monotonic.Moment { return monotonic.Moment(nanotime()) }

// ProcessCPU returns a process's CPU time in ns, ended threads included. Error: [errs.Exited], also if pid is not a
// first thread.
func ProcessCPU(pid int) (uint64, error) {
	if pid <= 0 || pid > pidMax {
		return 0, errs.Exited
	}
	ns, e := clock(^int32(pid)<<3 | cpuClockSched)
	if e == syscall.EINVAL { // no such process
		return 0, errs.Exited
	}
	return ns, classify(e)
}

// ThreadCPU returns the calling thread's CPU time in ns.
func ThreadCPU() uint64 {
	ns, _ := clock(unix.CLOCK_THREAD_CPUTIME_ID)
	return ns
}

// SinceBoot returns CLOCK_BOOTTIME in ns.
func SinceBoot() int64 {
	ns, _ := clock(unix.CLOCK_BOOTTIME)
	return int64(ns)
}

// BootTicks is the time after boot in [ClockTick].
func BootTicks() uint64 { return uint64(SinceBoot()) / ClockTick }

// Suspended returns CLOCK_BOOTTIME − CLOCK_MONOTONIC in ns, or 0 if unknown.
func Suspended() int64 {
	return max(difference(SinceBoot, Now, 3), 0)
}

// UnixAhead returns Unix time − clock, ns, by the shortest of n readings.
func UnixAhead(clock func() int64, n int) int64 {
	return difference(func() int64 { return time.Now().UnixNano() }, clock, n)
}

// difference returns a − b by the shortest of n readings: preemption between the clocks can take seconds.
func difference(a, b func() int64, n int) (ns int64) {
	shortest := int64(math.MaxInt64)
	for range n {
		before := b()
		at := a()
		if took := b() - before; took < shortest {
			shortest, ns = took, at-before-took/2
		}
	}
	return ns
}
