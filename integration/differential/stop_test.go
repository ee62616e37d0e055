// SPDX-License-Identifier: Apache-2.0

package differential

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"prywalk/internal/testtargets"
)

func stop(t *testing.T, target *testtargets.Target) []int {
	t.Helper()
	pids := target.PIDs()
	for _, pid := range pids {
		if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil && err != syscall.ESRCH {
			t.Fatal(err)
		}
	}
	left := pids[:0]
	for _, pid := range pids {
		if awaitStopped(t, pid) {
			left = append(left, pid)
		}
	}
	return left
}

func awaitStopped(t *testing.T, pid int) bool {
	t.Helper()
	found := false
	testtargets.Eventually(t, fmt.Sprintf("process %d is stopped", pid), func() bool {
		files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
		running := 0
		for _, file := range files {
			text, err := os.ReadFile(file)
			// The state follows the name, which can contain any byte (proc_pid_stat(5)).
			if i := strings.LastIndex(string(text), ") "); err == nil && i >= 0 && text[i+2] != 'T' {
				running++
			}
		}
		found = len(files) > 0
		return running == 0
	})
	return found
}
