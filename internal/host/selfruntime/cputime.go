// SPDX-License-Identifier: Apache-2.0

package selfruntime

import (
	"runtime"
	"time"

	"prywalk/internal/host/procmem"
)

// CPUTimeOf returns f's CPU time.
func CPUTimeOf(f func()) time.Duration {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	began := CPUTime()
	f()
	return CPUTime() - began
}

// CPUTime returns this OS thread's CPU time.
func CPUTime() time.Duration { return time.Duration(procmem.ThreadCPU()) }
