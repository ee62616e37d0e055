// SPDX-License-Identifier: Apache-2.0

package torture

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/bounded"
)

var (
	work   string
	binary string
	long   = os.Getenv("TORTURE") == "long"

	// given is the directory of an emulated machine with all programs, or "".
	given = os.Getenv("PRYWALK_PROGRAMS")
)

func TestMain(m *testing.M) { os.Exit(buildAndRun(m)) }

func buildAndRun(m *testing.M) int {
	syscall.Umask(0o022) // other users run what the tests make
	var err error
	if work, err = os.MkdirTemp("", "prywalk-torture-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(work)
	if err := os.Chmod(work, 0o755); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	binary = filepath.Join(work, "prywalk")
	if given != "" {
		binary = filepath.Join(given, "prywalk")
		patience *= 3 // less than package kernels lets a machine be silent
		return m.Run()
	}
	if err := testtargets.BuildPrywalk(binary); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

var (
	compileMu sync.Mutex
	compiled  = map[string]bool{}
)

func compile(t *testing.T, name string) string {
	t.Helper()
	compileMu.Lock()
	defer compileMu.Unlock()
	if given != "" {
		return filepath.Join(given, name)
	}
	exe := filepath.Join(work, name)
	if compiled[name] {
		return exe
	}
	if _, err := os.Stat(filepath.Join("src", name+".c")); err != nil {
		if out, err := bounded.AllOutput(exec.Command("go", "build", "-o", exe, "./src/"+name)); err != nil {
			t.Fatalf("go build %s: %v\n%s", name, err, out)
		}
		compiled[name] = true
		return exe
	}
	files, _ := filepath.Glob(filepath.Join("src", name+"_*.c"))
	args := append([]string{"-O1", "-g", "-w", "-pthread", "-o", exe, filepath.Join("src", name+".c")}, files...)
	if out, err := bounded.AllOutput(exec.Command("cc", args...)); err != nil {
		t.Fatalf("cc %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	compiled[name] = true
	return exe
}
