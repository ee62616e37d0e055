// SPDX-License-Identifier: Apache-2.0

package selfruntime

import (
	"runtime"
	"time"

	"prywalk/internal/procmem"
)

// CPUOf gives the processor time of f without its waits: budgets are shares of it.
func CPUOf(f func()) time.Duration {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	began := CPUTime()
	f()
	return CPUTime() - began
}

// CPUTime gives this OS thread's processor time.
func CPUTime() time.Duration { return time.Duration(procmem.ThreadCPU()) }
