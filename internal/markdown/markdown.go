// SPDX-License-Identifier: Apache-2.0

// Package markdown writes the tables of measurements, and puts them into pages.
package markdown

import (
	"fmt"
	"os"
	"strings"
)

// Table is a Markdown table. What a cell contains cannot break it.
type Table struct{ b strings.Builder }

// NewTable begins a table with these columns.
func NewTable(columns ...string) *Table {
	t := &Table{}
	t.Row(columns...)
	t.b.WriteString("|" + strings.Repeat(" --- |", len(columns)) + "\n")
	return t
}

// cell makes text fit into a cell.
var cell = strings.NewReplacer("\n", " ", "|", "\\|")

// Row adds a row.
func (t *Table) Row(cells ...string) {
	t.b.WriteString("|")
	for _, c := range cells {
		t.b.WriteString(" " + cell.Replace(c) + " |")
	}
	t.b.WriteString("\n")
}

// String gives the table, with a line feed at its end.
func (t *Table) String() string { return t.b.String() }

// markers are the lines of a page between which the section of a name stands.
func markers(name string) (begin, end string) {
	return "<!-- " + name + ": begin -->", "<!-- " + name + ": end -->"
}

// Empty is a page that has nothing but an empty section.
func Empty(name string) string {
	begin, end := markers(name)
	return begin + "\n" + end + "\n"
}

// Replace changes the section of a page that stands between the lines <!-- name: begin -->
// and <!-- name: end -->. The error says if the page lacks them.
func Replace(path, name string, change func(old string) string) error {
	page, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	begin, end := markers(name)
	head, rest, begins := strings.Cut(string(page), begin)
	section, tail, ends := strings.Cut(rest, end)
	if !begins || !ends {
		return fmt.Errorf("%s lacks the lines %q and %q, between which the tables go; add them", path, begin, end)
	}
	return os.WriteFile(path, []byte(head+begin+"\n"+change(section)+end+tail), 0o644)
}
