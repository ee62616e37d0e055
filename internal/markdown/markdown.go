// SPDX-License-Identifier: Apache-2.0

// Package markdown writes tables of measurements into sections of pages.
package markdown

import (
	"fmt"
	"os"
	"strings"
)

// Table is a Markdown table; cells are escaped.
type Table struct{ b strings.Builder }

// NewTable begins a table.
func NewTable(columns ...string) *Table {
	t := &Table{}
	t.Row(columns...)
	t.b.WriteString("|" + strings.Repeat(" --- |", len(columns)) + "\n")
	return t
}

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

// markers are the lines around a section.
func markers(name string) (begin, end string) {
	return "<!-- " + name + ": begin -->", "<!-- " + name + ": end -->"
}

// Empty is a page with an empty section.
func Empty(name string) string {
	begin, end := markers(name)
	return begin + "\n" + end + "\n"
}

// Replace changes a section of a page; an error if the page lacks its markers.
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
