// SPDX-License-Identifier: Apache-2.0

package selfruntime

import (
	"encoding/binary"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"

	"prywalk/internal/host/procmem"
	"prywalk/internal/testtargets"
)

// The thread is identified by its stack, read again while it is awake.
func TestMonitorThreadIsFound(t *testing.T) {
	tid := monitorThread()
	mem, err := os.Open("/proc/self/mem")
	if err != nil || tid == 0 {
		t.Fatal(tid, err)
	}
	defer mem.Close()
	files := procmem.OpenThread(os.Getpid(), tid, procmem.NewFDBudget(0))
	defer files.Close()
	testtargets.Eventually(t, "the thread's stack is that of the Go runtime's monitor", func() bool {
		call, err := files.Syscall()
		if err != nil {
			t.Fatal(err)
		}
		return !call.Running && returnsTo(mem, call.SP, "runtime.sysmon")
	})
}

func returnsTo(mem *os.File, sp uint64, function string) bool {
	stack := make([]byte, 512)
	n, _ := mem.ReadAt(stack, int64(sp))
	for i := 0; i+8 <= n; i += 8 {
		f := runtime.FuncForPC(uintptr(binary.LittleEndian.Uint64(stack[i:])))
		if f != nil && f.Name() == function {
			return true
		}
	}
	return false
}

func TestTimerSlackOfTheMonitorIsLargerWhileSamplingOnly(t *testing.T) {
	path := fmt.Sprintf("/proc/%d/timerslack_ns", monitorThread())
	slack := func() string {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(text))
	}
	before := slack()
	relaxed := fmt.Sprint(int(monitorSlack))
	if setSlack(path, before) != nil {
		relaxed = before // this user may not change it
	}
	undo := RelaxMonitor()
	if got := slack(); got != relaxed {
		t.Errorf("timer slack is %s ns while sampling, want %s", got, relaxed)
	}
	undo()
	if got := slack(); got != before {
		t.Errorf("timer slack is %s ns afterwards, want %s", got, before)
	}
}
