// SPDX-License-Identifier: Apache-2.0

package process

import (
	"strings"
	"testing"
)

// In a unit of systemd the unit grants capabilities; otherwise they are granted outside of the sandbox.
func TestRemedyUnderNoNewPrivs(t *testing.T) {
	g := gateChecker{self: &Status{UID: [4]int{1, 1, 1, 1}, NoNewPrivs: true}}
	for invocation, want := range map[string]string{
		"":                 "outside of this sandbox",
		"0123456789abcdef": "give the unit AmbientCapabilities=CAP_SYS_PTRACE CAP_DAC_READ_SEARCH",
	} {
		t.Setenv("INVOCATION_ID", invocation)
		if gate := g.withCapabilities(Gate{}); !strings.Contains(gate.Remedy, want) || gate.Command != "" {
			t.Errorf("INVOCATION_ID=%s: remedy %q, command %q; want %q and none", invocation, gate.Remedy, gate.Command, want)
		}
	}
}
