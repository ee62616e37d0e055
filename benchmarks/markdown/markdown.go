// SPDX-License-Identifier: Apache-2.0

// Package markdown writes tables of measurements into sections of pages.
package markdown

import (
	"fmt"
	"os"
	"strings"
)

// Table is a table of a page or a data file.
type Table struct{ rows [][]string }

// NewTable begins a table.
func NewTable(columns ...string) *Table { return &Table{rows: [][]string{columns}} }

var (
	cell  = strings.NewReplacer("\n", " ", "|", "\\|")
	value = strings.NewReplacer("\n", " ", "\t", " ")
)

// Row adds a row.
func (t *Table) Row(cells ...string) { t.rows = append(t.rows, cells) }

// String returns the table in Markdown, with a final line feed.
func (t *Table) String() string {
	var b strings.Builder
	for i, row := range t.rows {
		b.WriteString("|")
		for _, c := range row {
			b.WriteString(" " + cell.Replace(c) + " |")
		}
		b.WriteString("\n")
		if i == 0 {
			b.WriteString("|" + strings.Repeat(" --- |", len(row)) + "\n")
		}
	}
	return b.String()
}

// TSV returns tab-separated values, the columns' names first.
func (t *Table) TSV() string {
	var b strings.Builder
	for _, row := range t.rows {
		for i, c := range row {
			if i > 0 {
				b.WriteString("\t")
			}
			b.WriteString(value.Replace(c))
		}
		b.WriteString("\n")
	}
	return b.String()
}

// DataFile is the data file of a page's long table: PAGE-NAME.tsv.
func DataFile(page, name string) string { return strings.TrimSuffix(page, ".md") + "-" + name + ".tsv" }

// WriteDataFile writes the data file.
func WriteDataFile(page, name string, t *Table) error {
	return os.WriteFile(DataFile(page, name), []byte(t.TSV()), 0o644)
}

func markers(name string) (begin, end string) {
	return "<!-- " + name + ": begin -->", "<!-- " + name + ": end -->"
}

// EmptySection is a page with an empty section.
func EmptySection(name string) string {
	begin, end := markers(name)
	return begin + "\n" + end + "\n"
}

// ReplaceSection changes a section of a page. Error: the page lacks its markers.
func ReplaceSection(path, name string, change func(old string) string) error {
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
