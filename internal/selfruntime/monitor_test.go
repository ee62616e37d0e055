// SPDX-License-Identifier: Apache-2.0

package selfruntime

import (
	"encoding/binary"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"prywalk/internal/procmem"
)

// Its stack identifies the thread; it is read again while awake.
func TestTheMonitorsThreadIsFound(t *testing.T) {
	tid := monitorThread()
	mem, err := os.Open("/proc/self/mem")
	if err != nil || tid == 0 {
		t.Fatal(tid, err)
	}
	defer mem.Close()
	files := procmem.OpenThread(os.Getpid(), tid, procmem.NewBudget(0))
	defer files.Close()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(time.Millisecond) {
		call, err := files.Syscall()
		if err != nil {
			t.Fatal(err)
		}
		if !call.Running && returnsTo(mem, call.SP, "runtime.sysmon") {
			return
		}
	}
	t.Errorf("thread %d is not the runtime's monitor", tid)
}

// returnsTo: the stack from sp up holds an address in a function.
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

func TestTheMonitorIsRelaxedWhileSamplingOnly(t *testing.T) {
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
		relaxed = before // without the right to change it
	}
	undo := RelaxMonitor()
	if got := slack(); got != relaxed {
		t.Errorf("the slack is %s ns while sampling, not %s", got, relaxed)
	}
	undo()
	if got := slack(); got != before {
		t.Errorf("the slack is %s ns afterwards, it was %s", got, before)
	}
}
