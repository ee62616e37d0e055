// SPDX-License-Identifier: Apache-2.0

package dump

import (
	"strings"
	"testing"

	"prywalk/internal/show/dump/goroutines"
	"prywalk/internal/testtargets"
)

var stripped = []string{"-ldflags=-s -w"}

func buildGo(t *testing.T, program, release string, args ...string) string {
	t.Helper()
	command, language := testtargets.GoCommand(release)
	env := []string{"CGO_ENABLED=0", "GOWORK=off"}
	if release != "" {
		env = append(env, testtargets.GoRelease(release)...)
	}
	return testtargets.Compiled{
		Name:    "hung",
		Texts:   map[string]string{"main.go": program, "go.mod": "module hung\n\ngo " + language + "\n"},
		Env:     env,
		Command: append(append([]string{command, "build", "-o", "OUT"}, args...), "."),
	}.Build(t)
}

func TestAdviceForACoreNeedsNoProcess(t *testing.T) {
	for pid, want := range map[int]string{0: "dlv core", 7: "dlv attach"} {
		got := goroutines.Advice(pid)
		if !strings.Contains(got, want) || pid == 0 && (strings.Contains(got, "attach") || strings.Contains(got, "kill")) {
			t.Errorf("pid %d: %s", pid, got)
		}
	}
}
