package ownruntime

import (
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// CPUOf gives the processor time that a function takes. Time in which it waits, for a processor or for the
// accountant, is not counted. Else what may take a share of a processor would be left undone for seconds on a busy
// machine.
func CPUOf(f func()) time.Duration {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	began := CPUTime()
	f()
	return CPUTime() - began
}

// CPUTime gives the processor time of this OS thread.
func CPUTime() time.Duration {
	var ts unix.Timespec
	if unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts) != nil {
		return 0
	}
	return time.Duration(ts.Nano())
}
