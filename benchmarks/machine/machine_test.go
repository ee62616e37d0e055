// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"os"
	"strings"
	"testing"
)

func TestKernelIsTheRunningOne(t *testing.T) {
	release, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		t.Skipf("needs /proc/sys/kernel/osrelease: a mounted /proc (%v)", err)
	}
	k := Kernel()
	if k == "" || strings.Contains(k, "-") || !strings.HasPrefix(string(release), k) {
		t.Errorf("%q of %q", k, release)
	}
}

func TestCPUModelIsKnown(t *testing.T) {
	if CPUModel() == "" {
		t.Error("neither a model nor an architecture")
	}
}
