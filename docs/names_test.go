// SPDX-License-Identifier: Apache-2.0

package docs_test

import (
	"regexp"
	"strings"
	"testing"

	"prywalk/frames"
)

func TestEveryStopReasonHasADocumentedRemedy(t *testing.T) {
	rows := map[string]string{}
	for line := range strings.Lines(read(t, "docs/names.md")) {
		cells := strings.Split(strings.TrimSpace(line), "|")
		if len(cells) == 5 && strings.HasPrefix(cells[1], " `") {
			rows[strings.Trim(cells[1], " `")] = strings.TrimSpace(cells[3])
		}
	}
	reasons := 0
	for s := frames.StopNone + 1; s < frames.NumStopReasons; s++ {
		if reasons++; !s.Complete() && rows[s.String()] == "" {
			t.Errorf("docs/names.md has no remedy for %s", s)
		}
	}
	if reasons < 7 {
		t.Errorf("only %d stop reasons found: the pattern no longer matches", reasons)
	}
}

var synthetic = regexp.MustCompile(`(?m)= "(\[[a-z][^"]*\])"`)

func TestEverySyntheticEntryIsDocumented(t *testing.T) {
	checkDocumented(t, "docs/names.md", "internal/account/attribute/span.go", synthetic, 7)
}

func checkDocumented(t *testing.T, page, source string, pattern *regexp.Regexp, least int) {
	t.Helper()
	text := read(t, page)
	found := pattern.FindAllStringSubmatch(read(t, source), -1)
	if len(found) < least {
		t.Errorf("only %d names found in %s: the pattern no longer matches", len(found), source)
	}
	for _, m := range found {
		if !strings.Contains(text, "`"+m[1]+"`") {
			t.Errorf("%s lacks %s", page, m[1])
		}
	}
}
