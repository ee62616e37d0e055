// SPDX-License-Identifier: Apache-2.0

package procmem

import (
	"syscall"

	"prywalk/internal/refusal"

	"golang.org/x/sys/unix"
)

// Clock ids: ~pid<<3 | kind (include/linux/posix-timers.h, CPUCLOCK_*).
const (
	cpuClockSched = 2

	pidMax = 1 << 22 // PID_MAX_LIMIT, include/linux/threads.h
)

// Now returns CLOCK_MONOTONIC in ns, without a system call.
//
//go:nosplit
func Now() int64 { return nanotime() }

// ProcessCPU returns a process's CPU time in ns, ended threads included. Error: [refusal.Exited], also if pid is not a
// first thread.
func ProcessCPU(pid int) (uint64, error) {
	if pid <= 0 || pid > pidMax {
		return 0, refusal.Exited
	}
	ns, e := clock(^int32(pid)<<3 | cpuClockSched)
	if e == syscall.EINVAL { // no such process
		return 0, refusal.Exited
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
	suspended, shortest := int64(0), int64(1<<62)
	for range 3 { // the shortest, as pre-emption prolongs one
		before := Now()
		boot, e := clock(unix.CLOCK_BOOTTIME)
		if took := Now() - before; e == 0 && took < shortest {
			suspended, shortest = int64(boot)-before-took/2, took
		}
	}
	return max(suspended, 0)
}
