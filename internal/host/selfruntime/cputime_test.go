// SPDX-License-Identifier: Apache-2.0

package selfruntime

import (
	"runtime"
	"testing"
	"time"

	"prywalk/internal/host/procmem"
)

func TestCPUOfExcludesSleep(t *testing.T) {
	before := CPUTime()
	took := CPUTimeOf(func() { time.Sleep(20 * time.Millisecond) }) // the subject
	if all := CPUTime() - before; took < 0 || took > all {
		t.Errorf("%v of CPU time in a sleep, of %v before and after", took, all)
	}
	least := 5 * time.Millisecond
	took = CPUTimeOf(func() {
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
