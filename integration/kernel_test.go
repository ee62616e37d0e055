// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// cpuOf reads a process's CPU clock, which includes ended threads (clock_getcpuclockid(3); MAKE_PROCESS_CPUCLOCK
// in the kernel's posix-timers.h).
func cpuOf(pid int) (time.Duration, error) {
	var ts unix.Timespec
	err := unix.ClockGettime(int32(^pid<<3|2), &ts)
	return time.Duration(ts.Nano()), err
}

func stateOf(pid int) string {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, rest, _ := strings.Cut(string(text), ") ")
	state, _, _ := strings.Cut(rest, " ")
	return state
}

func tracerOf(pid int) string {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	_, rest, _ := strings.Cut(string(text), "TracerPid:\t")
	tracer, _, _ := strings.Cut(rest, "\n")
	return tracer
}

func threadsOf(pid int) []int {
	dirs, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pid))
	var tids []int
	for _, dir := range dirs {
		var tid int
		if _, err := fmt.Sscan(filepath.Base(dir), &tid); err == nil {
			tids = append(tids, tid)
		}
	}
	return tids
}

func containsAll(text string, words ...string) bool {
	for _, w := range words {
		if !strings.Contains(text, w) {
			return false
		}
	}
	return true
}
