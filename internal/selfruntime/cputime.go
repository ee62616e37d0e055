// SPDX-License-Identifier: Apache-2.0

package selfruntime

import (
	"runtime"
	"time"

	"prywalk/internal/procmem"
)

// CPUOf returns the CPU time of f.
func CPUOf(f func()) time.Duration {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	began := CPUTime()
	f()
	return CPUTime() - began
}

// CPUTime returns the CPU time of this OS thread.
func CPUTime() time.Duration { return time.Duration(procmem.ThreadCPU()) }
