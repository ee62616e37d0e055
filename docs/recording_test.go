// SPDX-License-Identifier: Apache-2.0

package docs_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
)

var (
	sampleLabel = regexp.MustCompile(`(?m)^\s+Label\w+\s*= "([a-z_]+)"`)
	statsRow    = regexp.MustCompile("(?m)^\\| (`[a-z_]+`(?:, `[a-z_]+`)*) \\| .* \\| .*\\|$")
	fieldName   = regexp.MustCompile("`([a-z_]+)`")
)

func TestEveryLabelOfSamplesIsDocumented(t *testing.T) {
	checkDocumented(t, "docs/recording.md", "internal/store/profile/labels.go", sampleLabel, 10)
}

type object struct {
	Properties map[string]struct {
		Description string `json:"description"`
	} `json:"properties"`
	Definitions map[string]object `json:"$defs"`
}

func formOf(t *testing.T, name string) (o object) {
	t.Helper()
	if err := json.Unmarshal([]byte(read(t, "docs/schema/"+name+".json")), &o); err != nil {
		t.Fatal(err)
	}
	return o
}

func TestEveryFieldIsDescribedInItsSchema(t *testing.T) {
	for _, c := range []struct {
		form, page string
		least      int
	}{{"stats", "recording.md", 97}, {"report", "report.md", 40}, {"top", "report.md", 30}, {"diff", "report.md", 15}} {
		o, fields := formOf(t, c.form), 0
		parts := map[string]object{"": o}
		for name, part := range o.Definitions {
			parts[name] = part
		}
		for part, o := range parts {
			for field, p := range o.Properties {
				if fields++; p.Description == "" {
					t.Errorf("the schema %s does not describe %s %s", c.form, part, field)
				}
			}
		}
		if fields < c.least {
			t.Errorf("the schema %s has only %d fields", c.form, fields)
		}
		page := read(t, "docs/"+c.page)
		if !strings.Contains(page, "prywalk schema "+c.form) && !strings.Contains(page, "`prywalk schema NAME`") {
			t.Errorf("docs/%s does not say what describes the fields: prywalk schema %s", c.page, c.form)
		}
	}
}

func TestThePageOfRecordingsNamesFieldsOfStats(t *testing.T) {
	fields, found := formOf(t, "stats").Properties, 0
	for _, row := range statsRow.FindAllStringSubmatch(read(t, "docs/recording.md"), -1) {
		for _, m := range fieldName.FindAllStringSubmatch(row[1], -1) {
			if found++; fields[m[1]].Description == "" {
				t.Errorf("docs/recording.md describes %s, which is no field of --stats", m[1])
			}
		}
	}
	if found < 12 {
		t.Errorf("only %d fields found: the pattern no longer matches", found)
	}
}
