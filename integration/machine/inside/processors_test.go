// SPDX-License-Identifier: Apache-2.0

package inside

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/google/pprof/profile"
)

// Each processor has a ring of kernel samples, and a place in each process's events.
func TestOnManyProcessorsProgramsAreListedAndRecorded(t *testing.T) {
	want := os.Getenv("PRYWALK_PROCESSORS")
	if want == "" {
		t.Skip("needs an emulated machine of many processors: make test-kernels")
	}
	online, err := filepath.Glob("/sys/devices/system/cpu/cpu[0-9]*")
	if err != nil || strconv.Itoa(len(online)) != want {
		t.Fatalf("%d processors (%v), want %s", len(online), err, want)
	}
	runAs(t, 0, "doctor").must(t, 0)
	p := start(t, "chain")
	pid := strconv.Itoa(p.pid)
	checkDump(t, p.pid, chainMethods)
	for _, flags := range [][]string{{"-p", pid, "--engine", "perf", "--no-kernel"}, {"-p", pid, "--engine", "ptrace"},
		{"-a", "--match", "^chain$", "--no-kernel"}} {
		total := int64(0)
		any := func(prof *profile.Profile) bool { total += checkSamples(t, prof); return total > 0 }
		recordedUntil(t, 2, any, append([]string{"-F", "19"}, flags...)...)
	}
}
