// SPDX-License-Identifier: Apache-2.0

package docs_test

import (
	"regexp"
	"strings"
	"testing"
)

var (
	jsonField   = regexp.MustCompile("`json:\"([a-z0-9_]+)")
	sampleLabel = regexp.MustCompile(`(?m)^\s+Label\w+\s*= "([a-z_]+)"`)
)

// TestEveryFieldOfStatsIsOnThePage holds that the page of the file and of --stats leaves no field and no label out.
func TestEveryFieldOfStatsIsOnThePage(t *testing.T) {
	fields := read(t, "internal/runstats/runstats.go")
	page := read(t, "docs/recording.md")
	for _, c := range []struct {
		what  string
		names [][]string
		least int
	}{
		{"the field", jsonField.FindAllStringSubmatch(fields, -1), 50},
		{"the label", sampleLabel.FindAllStringSubmatch(read(t, "internal/profile/labels.go"), -1), 10},
	} {
		if len(c.names) < c.least {
			t.Errorf("only %d names found: the test does not see what it is for", len(c.names))
		}
		for _, m := range c.names {
			if !strings.Contains(page, "`"+m[1]+"`") {
				t.Errorf("docs/recording.md lacks %s %s", c.what, m[1])
			}
		}
	}
}
