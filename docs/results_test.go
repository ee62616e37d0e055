// SPDX-License-Identifier: Apache-2.0

package docs_test

import (
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

const (
	resultsPage  = "benchmarks/results/README.md"
	summaryBegin = "<!-- summary: begin -->\n"
	summaryEnd   = "<!-- summary: end -->"
	summaryRow   = "| question | result | made by |\n| --- | --- | --- |\n"
)

// To rewrite the summary: go test ./docs -run Summary -update
func TestSummaryOfResultsIsThatOfItsPages(t *testing.T) {
	var table strings.Builder
	table.WriteString("\n| page | question | result | made by |\n| --- | --- | --- | --- |\n")
	for _, page := range in(t, "benchmarks/results") {
		if page == resultsPage {
			continue
		}
		_, rest, _ := strings.Cut(read(t, page), "\n\n")
		row, ok := strings.CutPrefix(rest, summaryRow)
		row, _, _ = strings.Cut(row, "\n")
		if !ok || strings.Count(strings.ReplaceAll(row, `\|`, ""), "|") != 4 {
			t.Errorf("%s does not begin with a title and a table of one row: question, result, made by", page)
		}
		name := path.Base(page)
		table.WriteString("| [" + strings.TrimSuffix(name, ".md") + "](" + name + ") " + row + "\n")
	}
	before, rest, begun := strings.Cut(read(t, resultsPage), summaryBegin)
	shown, after, ended := strings.Cut(rest, summaryEnd)
	switch {
	case !begun || !ended:
		t.Errorf("%s lacks %q or %q", resultsPage, summaryBegin, summaryEnd)
	case shown == table.String()+"\n":
	case *update:
		page := before + summaryBegin + table.String() + "\n" + summaryEnd + after
		if err := os.WriteFile(filepath.Join("..", resultsPage), []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("the summary in %s is not that of the pages: go test ./docs -run Summary -update", resultsPage)
	}
}
