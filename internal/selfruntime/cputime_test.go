// SPDX-License-Identifier: Apache-2.0

package selfruntime

import (
	"runtime"
	"testing"
	"time"

	"prywalk/internal/procmem"
)

func TestWaitingIsNotWork(t *testing.T) {
	if took := CPUOf(func() { time.Sleep(200 * time.Millisecond) }); took < 0 || took > 100*time.Millisecond {
		t.Errorf("%v of 200 ms asleep", took)
	}
	least := 5 * time.Millisecond
	took := CPUOf(func() {
		for began := CPUTime(); CPUTime() < began+least; {
		}
	})
	if took < least {
		t.Errorf("%v of %v at work", took, least)
	}
}

// A call that the scheduler knows of would let a pending request to yield through (ptrace.Pin).
func TestOwnProcessorTimeIsAskedWithoutTheScheduler(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before := procmem.Calls()
	if CPUTime() <= 0 || procmem.Calls() == before {
		t.Errorf("%d calls are counted", procmem.Calls()-before)
	}
}
