// SPDX-License-Identifier: Apache-2.0

package selfruntime

import (
	"runtime"
	"testing"
	"time"

	"prywalk/internal/procmem"
)

func TestCPUOfExcludesSleep(t *testing.T) {
	if took := CPUTimeOf(func() { time.Sleep(200 * time.Millisecond) }); took < 0 || took > 100*time.Millisecond {
		t.Errorf("%v of CPU time in a sleep of 200 ms, want at most 100 ms", took)
	}
	least := 5 * time.Millisecond
	took := CPUTimeOf(func() {
		for began := CPUTime(); CPUTime() < began+least; {
		}
	})
	if took < least {
		t.Errorf("%v of CPU time, want at least %v", took, least)
	}
}

// A system call through the Go scheduler would let a pending preemption happen (ptrace.Pin).
func TestCPUTimeIsReadWithoutTheGoScheduler(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before := procmem.Calls()
	if CPUTime() <= 0 || procmem.Calls() == before {
		t.Errorf("CPUTime is not above 0, or makes %d counted system calls", procmem.Calls()-before)
	}
}
