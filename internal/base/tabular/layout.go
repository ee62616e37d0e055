// SPDX-License-Identifier: Apache-2.0

package tabular

import (
	"strings"

	"prywalk/internal/base/printable"
)

const (
	minWidthForModules = 72
	// MinNameColumn is the least width of names.
	MinNameColumn = 16
	// on a terminal
	minModuleWidth, maxModuleWidth = 10, 32
)

// Columns are widths; Module 0: no such column.
type Columns struct{ Name, Module int }

// FitColumns divides the width that figures leave. Width 0: nothing is cut.
func FitColumns(width, figures, name, module int) Columns {
	if width == 0 {
		return Columns{min(name, 1<<12), module} // limits the padding only
	}
	left := width - figures
	if width < minWidthForModules || module == 0 {
		return Columns{max(min(name, left), MinNameColumn), 0}
	}
	left -= len("  ")
	module = min(module, max(minModuleWidth, min(maxModuleWidth, left/3), left-name))
	return Columns{max(min(name, left-module), MinNameColumn), module}
}

// AlignRight right-aligns texts in minWidth cells or more.
func AlignRight(texts []string, minWidth int) []string {
	width := minWidth
	for _, s := range texts {
		width = max(width, Width(s))
	}
	out := make([]string, len(texts))
	for i, s := range texts {
		out[i] = strings.Repeat(" ", width-Width(s)) + s
	}
	return out
}

// Wrap joins parts, made printable, with a separator, in lines of width; 0: one line.
func Wrap(width int, sep string, parts ...string) printable.Raw {
	var b strings.Builder
	col, end := 0, strings.TrimRight(sep, " ")
	for i, p := range parts {
		p = printable.String(p)
		n := Width(p)
		room := width
		if i < len(parts)-1 {
			room -= Width(end)
		}
		switch {
		case i == 0:
		case width > 0 && col+Width(sep)+n > room:
			b.WriteString(end + "\n")
			col = 0
		default:
			b.WriteString(sep)
			col += Width(sep)
		}
		b.WriteString(p)
		col += n
	}
	return printable.Raw(b.String())
}

// Paragraph wraps text between words, and indents lines after the first. Width 0: one line.
func Paragraph(width int, indent, text string) printable.Raw {
	return wrapWords(width, 0, indent, text)
}

// HangingIndent wraps text that begins in the column indent, as later lines do. Width 0: one line.
func HangingIndent(width, indent int, text string) printable.Raw {
	return wrapWords(width, indent, strings.Repeat(" ", indent), text)
}

func wrapWords(width, col int, indent, text string) printable.Raw {
	text = printable.String(text)
	if width == 0 {
		return printable.Raw(text)
	}
	var b strings.Builder
	for i, word := range strings.Fields(text) {
		n := Width(word)
		switch {
		case i == 0:
		case col+1+n > width:
			b.WriteString("\n" + indent)
			col = Width(indent)
		default:
			b.WriteByte(' ')
			col++
		}
		b.WriteString(word)
		col += n
	}
	return printable.Raw(b.String())
}
