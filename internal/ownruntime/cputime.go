// SPDX-License-Identifier: Apache-2.0

package ownruntime

import (
	"runtime"
	"time"

	"prywalk/internal/procmem"
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
func CPUTime() time.Duration { return time.Duration(procmem.ThreadCPU()) }
