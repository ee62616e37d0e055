// SPDX-License-Identifier: Apache-2.0

package testtargets

import (
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"prywalk/internal/testtargets/bounded"
)

// Core writes a core with gcore and returns its path.
func Core(t testing.TB, pid int) string {
	t.Helper()
	gcore, err := exec.LookPath("gcore")
	if err != nil {
		t.Fatal("gcore is not installed: run scripts/setup-tests.sh as root")
	}
	prefix := filepath.Join(t.TempDir(), "core")
	if out, err := bounded.AllOutput(exec.Command(gcore, "-o", prefix, strconv.Itoa(pid))); err != nil {
		t.Fatalf("gcore of process %d: %v: %s", pid, err, out)
	}
	return prefix + "." + strconv.Itoa(pid)
}
