// SPDX-License-Identifier: Apache-2.0

package dump

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"prywalk/internal/show/dump/goroutines"
	"prywalk/internal/testtargets"
)

var stripped = []string{"-ldflags=-s -w"}

func buildGo(t *testing.T, program, release string, args ...string) string {
	t.Helper()
	dir := t.TempDir()
	command, language := testtargets.GoCommand(release)
	for file, text := range map[string]string{"main.go": program, "go.mod": "module hung\n\ngo " + language + "\n"} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	build := exec.Command(command, append(append([]string{"build", "-o", "hung"}, args...), ".")...)
	build.Dir, build.Env = dir, append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
	if release != "" {
		build.Env = append(build.Env, testtargets.GoRelease(release)...)
	}
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return filepath.Join(dir, "hung")
}

func TestAdviceForACoreNeedsNoProcess(t *testing.T) {
	for pid, want := range map[int]string{0: "dlv core", 7: "dlv attach"} {
		got := goroutines.Advice(pid)
		if !strings.Contains(got, want) || pid == 0 && (strings.Contains(got, "attach") || strings.Contains(got, "kill")) {
			t.Errorf("pid %d: %s", pid, got)
		}
	}
}
