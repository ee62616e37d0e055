// SPDX-License-Identifier: Apache-2.0

package commandline

import (
	"regexp"
	"strings"

	"prywalk/internal/tabular"
)

const codeIndent = "      "

// item begins an item of a list.
var item = regexp.MustCompile(`^(?:- |\d+\. )`)

// pageText shows a table's row as a heading with its cells below.
func pageText(page string, width int) string {
	var b strings.Builder
	var columns []string
	var words strings.Builder
	indent := ""
	flush := func() {
		if words.Len() > 0 {
			b.WriteString(string(tabular.Paragraph(width, indent, words.String())) + "\n")
			words.Reset()
		}
		indent = ""
	}
	code := false
	for line := range strings.Lines(page) {
		line = strings.TrimSuffix(line, "\n")
		fence := strings.HasPrefix(line, "```")
		switch {
		case fence || code:
			flush()
			code = code != fence
			if !fence {
				b.WriteString(codeIndent + line + "\n")
			}
			continue
		case strings.HasPrefix(line, "|"):
			flush()
			columns = tableRow(&b, columns, cells(line), width)
			continue
		case line == "" || strings.HasPrefix(line, "#"):
			flush()
			b.WriteString(line + "\n")
		case item.MatchString(line) || words.Len() == 0:
			flush()
			indent = strings.Repeat(" ", len(item.FindString(line)))
			words.WriteString(line)
		default:
			words.WriteString(" " + strings.TrimSpace(line))
		}
		columns = nil
	}
	flush()
	return b.String()
}

func cells(line string) []string {
	list := strings.Split(strings.Trim(strings.ReplaceAll(line, `\|`, "\x00"), "|"), "|")
	for i := range list {
		list[i] = strings.TrimSpace(strings.ReplaceAll(list[i], "\x00", "|"))
	}
	return list
}

// tableRow returns the columns, which the first row names.
func tableRow(b *strings.Builder, columns, row []string, width int) []string {
	switch {
	case columns == nil:
		heading := strings.TrimPrefix(strings.Join(row, " / "), " / ")
		b.WriteString(string(tabular.Paragraph(width, "", heading)) + ":\n\n")
		return row
	case strings.Trim(strings.Join(row, ""), "-: ") == "":
		return columns
	}
	const indent = "    "
	b.WriteString(string(tabular.Paragraph(width, indent, row[0])) + "\n")
	for i, cell := range row[1:] {
		if cell == "" {
			continue
		}
		if i+1 < len(columns) && columns[i+1] != "" && len(row) > 2 {
			cell = columns[i+1] + ": " + cell
		}
		b.WriteString(indent + string(tabular.Paragraph(width-len(indent), indent, cell)) + "\n")
	}
	return columns
}
