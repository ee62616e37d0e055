// SPDX-License-Identifier: Apache-2.0

package ownruntime

import (
	"runtime"
	"testing"
	"time"

	"prywalk/internal/procmem"
)

// TestWaitingIsNotWork: else the scout would rest for fifty times as long as a search had to wait.
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

// TestOwnProcessorTimeIsAskedWithoutTheScheduler: a call that it is told of takes up again a request to make room that
// was let pass (package ptrace, Pin). All others are counted.
func TestOwnProcessorTimeIsAskedWithoutTheScheduler(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before := procmem.Calls()
	if CPUTime() <= 0 || procmem.Calls() == before {
		t.Errorf("%d calls are counted", procmem.Calls()-before)
	}
}
