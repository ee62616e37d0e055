package sampler

import (
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// cpuOf gives the processor time that a function takes. Time in which it waits, for a processor or for the accountant,
// is not counted: what is done for a share of a processor would else be left undone for seconds on a busy machine.
func cpuOf(f func()) time.Duration {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	began := cpuTime()
	f()
	return cpuTime() - began
}

// cpuTime gives the processor time of this OS thread.
func cpuTime() time.Duration {
	var ts unix.Timespec
	if unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts) != nil {
		return 0
	}
	return time.Duration(ts.Nano())
}
