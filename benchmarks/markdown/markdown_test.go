// SPDX-License-Identifier: Apache-2.0

package markdown

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTableSurvivesWhatACellContains(t *testing.T) {
	table := NewTable("a", "b")
	table.Row("x|y", "two\nlines")
	if want := "| a | b |\n| --- | --- |\n| x\\|y | two lines |\n"; table.String() != want {
		t.Errorf("%q", table.String())
	}
	table.Row("3", "tab\there")
	if want := "a\tb\nx|y\ttwo lines\n3\ttab here\n"; table.TSV() != want {
		t.Errorf("%q", table.TSV())
	}
}

func TestOnlyTheSectionOfThatNameIsReplaced(t *testing.T) {
	path := filepath.Join(t.TempDir(), "page.md")
	page := "above\n" + EmptySection("one") + "between\n" + EmptySection("two") + "below\n"
	if err := os.WriteFile(path, []byte(page), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := ReplaceSection(path, "two", func(old string) string { return strings.TrimSpace(old) + "x\n" }); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if want := "above\n" + EmptySection("one") +
		"between\n<!-- two: begin -->\nxx\n<!-- two: end -->\nbelow\n"; string(got) != want || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if err := ReplaceSection(path, "three", strings.TrimSpace); err == nil ||
		!strings.Contains(err.Error(), "three: begin") {
		t.Errorf("%v", err)
	}
}
