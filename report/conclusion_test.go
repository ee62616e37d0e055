// SPDX-License-Identifier: Apache-2.0

package report

import (
	"encoding/json"
	"strings"
	"testing"

	"prywalk/internal/base/tabular"
	rec "prywalk/internal/store/profile"
)

func TestWaitsAreInPlaceOfFunctionsWhereTheConclusionIsAboutThemAlone(t *testing.T) {
	const instead = "Mostly waiting, so these are the waits: "
	for name, x := range map[string]struct {
		cpu     int64 // ns; the second of two threads
		options Options
		note    string
		want    bool
	}{
		"a wait alone":              {cpu: 9e8, want: true},
		"busy as well":              {cpu: 11e8},
		"an alarm before it":        {cpu: 9e8, note: "DEADLOCK: a waits for b", want: true},
		"functions are asked for":   {cpu: 9e8, options: Options{Full: true}},
		"CPU time is asked for":     {cpu: 9e8, options: Options{Value: rec.TypeCPU}},
		"the table is of all time":  {cpu: 9e8, options: Options{Value: rec.TypeWall}},
		"waits are asked for":       {cpu: 9e8, options: Options{By: "wait"}},
		"not of the thread that is": {cpu: 9e8, options: Options{Thread: "spinner"}},
	} {
		c := newContention()
		c.add(10, "save", 0, 10e9, "mutex cache_mu", 0)
		c.add(11, "spin", 0, x.cpu, "", 0)
		c.p.Sample[1].Label[rec.LabelThread] = []string{"spinner"}
		c.p.Comments = []string{x.note}
		if got := strings.Contains(render(t, Table, c.p, x.options), instead); got != x.want {
			t.Errorf("%s: %v:\n%s", name, got, render(t, Table, c.p, x.options))
		}
	}
}

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
