// SPDX-License-Identifier: Apache-2.0

package report

import (
	"encoding/json"
	"strings"
	"testing"

	"prywalk/internal/base/tabular"
)

func TestEveryFormBeginsWithTheConclusion(t *testing.T) {
	p := wideFixture(t)
	want, err := Conclusion(p, Options{})
	if err != nil || !strings.HasPrefix(want, "mostly waiting: 1 thread in futex of update_cache") {
		t.Fatalf("%q, %v", want, err)
	}
	lines := strings.Split(render(t, Table, p, Options{}), "\n")
	if lines[0] != want || lines[3] != "" || !tabular.Fits(lines[1], headWidth) || !tabular.Fits(lines[2], headWidth) {
		t.Errorf("not the conclusion and two lines of heading: %q", lines[:4])
	}
	if notes := strings.Count(render(t, Table, p, Options{N: 1}), "\n\n"); notes != 3 {
		t.Errorf("%d paragraphs after the heading, want the table and 2 notes", notes)
	}
	var page, text strings.Builder
	line := `<p id="conclusion">` + want + "</p>"
	if err := HTML(&page, p, Options{}); err != nil || !strings.Contains(page.String(), line) {
		t.Errorf("the page lacks %q: %v", line, err)
	}
	var r struct{ Conclusion string }
	if err := JSON(&text, p, false, Options{}); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(text.String()), &r); err != nil || r.Conclusion != want {
		t.Errorf("conclusion %q, want %q: %v", r.Conclusion, want, err)
	}
}
