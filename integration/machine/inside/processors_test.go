// SPDX-License-Identifier: Apache-2.0

package inside

import (
	"fmt"
	"os"
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
	last, err := strconv.Atoi(want)
	if err != nil {
		t.Fatal(err)
	}
	online, err := os.ReadFile("/sys/devices/system/cpu/online")
	if text := fmt.Sprintf("0-%d\n", last-1); err != nil || string(online) != text {
		t.Fatalf("processors %q are online (%v), want %q", online, err, text)
	}
	runAs(t, 0, "doctor").must(t, 0)
	p := start(t, "chain")
	pid := strconv.Itoa(p.pid)
	checkDump(t, p.pid, chainMethods)
	for _, flags := range [][]string{{"-p", pid, "--engine", "perf", "--no-kernel"}, {"-p", pid, "--engine", "ptrace"},
		{"-a", "--match", "^chain$", "--no-kernel"}} {
		total := int64(0)
		hasAny := func(prof *profile.Profile) bool { total += checkSamples(t, prof); return total > 0 }
		recordedUntil(t, 2, hasAny, append([]string{"-F", "19"}, flags...)...)
	}
}
