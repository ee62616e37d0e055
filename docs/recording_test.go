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

// The page of the recording and of --stats must have every field and label.
func TestEveryFieldOfStatsIsDocumented(t *testing.T) {
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
			t.Errorf("only %d names found: the pattern no longer matches", len(c.names))
		}
		for _, m := range c.names {
			if !strings.Contains(page, "`"+m[1]+"`") {
				t.Errorf("docs/recording.md lacks %s %s", c.what, m[1])
			}
		}
	}
}
