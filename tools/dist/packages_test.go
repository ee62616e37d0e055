// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"testing"

	"github.com/goreleaser/nfpm/v2/files"
)

func TestPackagesForHostsWithSystemdBringTheAgentsUnit(t *testing.T) {
	content := []file{{path: "/usr/bin/prywalk"}, {path: agentUnit}}
	for format, want := range map[string]bool{"deb": true, "rpm": true, "apk": false} {
		got := (&release{}).contents(content, format, "/zsh")
		has := slices.ContainsFunc(got, func(c *files.Content) bool { return c.Destination == agentUnit })
		if has != want || len(got) < 1 {
			t.Errorf("%s: %v, want %v", format, has, want)
		}
	}
}
