package main

import (
	"fmt"
	"os"
	"strings"
)

// The tables stand between these lines of the page.
const (
	beginMarker = "<!-- ladder: begin -->"
	endMarker   = "<!-- ladder: end -->"
)

// putPart puts a part between the markers of a page, in the place of what it had under that title.
func putPart(path, title, text string) error {
	old, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	head, rest, begins := strings.Cut(string(old), beginMarker)
	section, tail, ends := strings.Cut(rest, endMarker)
	if !begins || !ends {
		return fmt.Errorf("%s lacks the lines %q and %q, between which the tables go", path, beginMarker, endMarker)
	}
	return os.WriteFile(path, []byte(head+beginMarker+"\n"+replacePart(section, title, text)+endMarker+tail), 0o644)
}

// replacePart gives a section with one part replaced. Parts begin with their title as a heading, and stand in
// the order of parts.
func replacePart(section, title, text string) string {
	known := map[string]string{}
	for piece := range strings.SplitSeq("\n"+section, "\n### ") {
		if name, _, ok := strings.Cut(piece, "\n"); ok {
			known[name] = "### " + strings.TrimSpace(piece) + "\n"
		}
	}
	known[title] = strings.TrimSpace(text) + "\n"
	var b strings.Builder
	for _, p := range parts {
		if known[p.title] != "" {
			b.WriteString("\n" + known[p.title])
		}
	}
	return b.String() + "\n"
}

// table is a Markdown table.
type table struct{ b strings.Builder }

func newTable(columns ...string) *table {
	t := &table{}
	t.row(columns...)
	t.b.WriteString("|" + strings.Repeat(" --- |", len(columns)) + "\n")
	return t
}

func (t *table) row(cells ...string) {
	t.b.WriteString("| " + strings.Join(cells, " | ") + " |\n")
}

func (t *table) String() string { return t.b.String() }
