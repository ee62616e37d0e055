// SPDX-License-Identifier: Apache-2.0

package testtargets

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// longestNap is longer than any sleep in which a run-time system looks for work: Go's sysmon takes 10 ms
// (runtime/proc.go).
const longestNap = 50 * time.Millisecond

// Still calls look until no thread of a process ran from longestNap before the call to its end, and all slept. What
// look found last is then of one moment, and no later one differs unless another process wakes a thread.
func Still(tb TB, pid int, look func()) {
	tb.Helper()
	sleeps, after, since := "", "", time.Now()
	if !Comes(func() bool {
		if now := sleepsOf(pid); now != sleeps || now == "" {
			sleeps, since = now, time.Now()
			return false
		}
		if time.Since(since) < longestNap {
			return false
		}
		look()
		after = sleepsOf(pid)
		return after == sleeps
	}) {
		tb.Fatal(fmt.Errorf("not within %v: all threads of process %d sleep and stay asleep; their switches are\n%s\n"+
			"and after the last look\n%s", patience, pid, sleeps, after))
	}
}

// sleepsOf tells one sleep of each thread from another by its context switches; it is empty if a thread does not sleep.
func sleepsOf(pid int) string {
	var out strings.Builder
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
	for _, file := range files {
		text, _ := os.ReadFile(file)
		if !strings.Contains(string(text), "\nState:\tS") {
			return ""
		}
		out.WriteString(file)
		for line := range strings.Lines(string(text)) {
			if _, n, ok := strings.Cut(line, "ctxt_switches:\t"); ok {
				out.WriteString(" " + strings.TrimSpace(n))
			}
		}
	}
	return out.String()
}
