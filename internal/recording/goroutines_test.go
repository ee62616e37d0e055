// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"prywalk/internal/testtargets"
)

func TestGoroutinesThatWaitAreCountedInTheRecording(t *testing.T) {
	exe := filepath.Join(t.TempDir(), "parked")
	build := exec.Command("go", "build", "-ldflags=-s -w", "-o", exe, "./testdata/parked")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	cmd := exec.Command(exe)
	testtargets.Ready(t, cmd)
	lines := recorded(t, cmd.Process.Pid).Comments
	if !slices.ContainsFunc(lines, func(s string) bool {
		return strings.Contains(s, "): 21 goroutines that wait are not shown (20 chan receive, 1 sleep)")
	}) {
		t.Errorf("%q", lines)
	}
}
