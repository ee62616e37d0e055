// SPDX-License-Identifier: Apache-2.0

package procmem

import (
	"syscall"

	"prywalk/internal/refusal"

	"golang.org/x/sys/unix"
)

// Clock numbers of other processes: the complement of the pid above three bits
// that say which clock, and whether of one thread (kernel,
// include/linux/posix-timers.h, CPUCLOCK_*).
const (
	cpuClockSched = 2

	pidMax = 1 << 22 // PID_MAX_LIMIT, include/linux/threads.h
)

// Now gives the time of CLOCK_MONOTONIC, in nanoseconds. Deadlines of package
// ptrace are on this clock. It is the runtime's own reading of it, which asks the
// vDSO and not the kernel: waits for a stop ask for the time in each turn.
//
//go:nosplit
func Now() int64 { return nanotime() }

// ProcessCPU gives the processor time that all threads of a process have used,
// in nanoseconds, those that have ended included. Its waited-for children are not
// counted. It needs no permission. [refusal.Gone] if there is no such process, or pid
// is a thread's that is not its process's first.
func ProcessCPU(pid int) (uint64, error) {
	if pid <= 0 || pid > pidMax {
		return 0, refusal.Gone
	}
	ns, e := clock(^int32(pid)<<3 | cpuClockSched)
	if e == syscall.EINVAL { // how the kernel says that there is none
		return 0, refusal.Gone
	}
	return ns, classify(e)
}

// ThreadCPU gives the processor time of the calling thread, in nanoseconds. Unlike [unix.ClockGettime] it does not tell
// the Go scheduler: at the end of a call that does, a request to make room is noticed that was dropped before.
func ThreadCPU() uint64 {
	ns, _ := clock(unix.CLOCK_THREAD_CPUTIME_ID) // it exists since Linux 2.6.12
	return ns
}

// SinceBoot gives the time since boot, suspended time included, in nanoseconds. The Go scheduler is not told, either.
func SinceBoot() int64 {
	ns, _ := clock(unix.CLOCK_BOOTTIME) // it exists since Linux 2.6.39
	return int64(ns)
}

// Suspended gives for how long the machine has been suspended since it was started, in nanoseconds: what
// CLOCK_BOOTTIME is ahead of CLOCK_MONOTONIC (clock_gettime(2)). 0 where the kernel does not say.
func Suspended() int64 {
	suspended, shortest := int64(0), int64(1<<62)
	for range 3 { // whoever is put off its processor between two readings reads too much
		before := Now()
		boot, e := clock(unix.CLOCK_BOOTTIME)
		if took := Now() - before; e == 0 && took < shortest {
			suspended, shortest = int64(boot)-before-took/2, took
		}
	}
	return max(suspended, 0)
}
