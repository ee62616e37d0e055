package procmem

import (
	"syscall"
	"time"
)

// Clock numbers of other processes: the complement of the pid above three bits
// that say which clock, and whether of one thread (kernel,
// include/linux/posix-timers.h, CPUCLOCK_*).
const (
	clockMonotonic = 1
	cpuClockSched  = 2
	cpuClockThread = 4

	pidMax = 1 << 22 // PID_MAX_LIMIT, include/linux/threads.h
)

// Now gives the time of CLOCK_MONOTONIC, in nanoseconds. Deadlines of package
// ptrace are on this clock. It is no system call: Go's monotonic clock is that clock
// (runtime/sys_linux_amd64.s, nanotime1), read through the vDSO, which takes a tenth of
// the time.
func Now() int64 { return epoch.ns + int64(time.Since(epoch.at)) }

// epoch is one moment on both clocks.
var epoch = newEpoch()

type moment struct {
	at time.Time
	ns int64
}

// newEpoch reads both clocks as close together as one of some tries came.
func newEpoch() (best moment) {
	least := int64(1 << 62)
	for range 16 {
		before, _ := clock(clockMonotonic)
		at := time.Now()
		after, _ := clock(clockMonotonic)
		if took := int64(after - before); took < least {
			least, best = took, moment{at, int64(before) + took/2}
		}
	}
	return best
}

// ProcessCPU gives the processor time that all threads of a process have used,
// in nanoseconds, those that have ended included. Its waited-for children are not
// counted. It needs no permission. [ErrGone] if there is no such process, or pid
// is a thread's that is not its process's first.
func ProcessCPU(pid int) (uint64, error) {
	return cpuClock(pid, cpuClockSched)
}

// ThreadCPU gives the processor time of one thread of the calling process, in
// nanoseconds. The kernel does not give this clock for threads of others
// ([ErrGone]); their schedstat has it ([ThreadFiles.SchedStat]).
func ThreadCPU(tid int) (uint64, error) {
	return cpuClock(tid, cpuClockSched|cpuClockThread)
}

func cpuClock(id int, kind int32) (uint64, error) {
	if id <= 0 || id > pidMax {
		return 0, ErrGone
	}
	ns, e := clock(^int32(id)<<3 | kind)
	if e == syscall.EINVAL { // how the kernel says that there is none
		return 0, ErrGone
	}
	return ns, classify(e)
}
