// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"prywalk/internal/testtargets"
	"prywalk/internal/watch/target"
)

func recorded(t *testing.T, pid int) *profile.Profile {
	t.Helper()
	file := filepath.Join(t.TempDir(), "prywalk.pb.gz")
	err := RecordProcesses(Options{
		PIDs: []int{pid}, Duration: 500 * time.Millisecond, Output: file, Overwrite: true,
		Sampler: target.SamplingOptions{Freq: 99, MaxDepth: 1024},
	})
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	p, err := profile.Parse(f)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestADeadlockIsInTheRecording(t *testing.T) {
	exe, err := testtargets.Compile("cycles.c", "-O1")
	if err != nil {
		t.Fatal(err)
	}
	isDeadlock := func(text string) bool { return strings.Contains(text, "DEADLOCK") }
	for how, want := range map[string]bool{"pi": true, "timed": false} {
		cmd := exec.Command(exe, how, "0")
		_, says := testtargets.Talk(t, cmd)
		if _, err := says.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
		lines := recorded(t, cmd.Process.Pid).Comments
		if slices.ContainsFunc(lines, isDeadlock) != want {
			t.Errorf("%s: %q", how, lines)
		}
		if want && (len(lines) != 2 || !strings.HasPrefix(lines[1], "DEADLOCK: ") ||
			strings.Count(lines[1], " waits for ") != 2) {
			t.Errorf("%s: %q", how, lines)
		}
	}
}
