// SPDX-License-Identifier: Apache-2.0

package tabular

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"prywalk/internal/base/printable"
)

const (
	minWidthForModules = 72
	// MinNameColumn is the least width of names.
	MinNameColumn = 16
	// on a terminal
	minModuleWidth, maxModuleWidth = 10, 32
)

// Columns are widths; with Module 0 there is no such column.
type Columns struct{ Name, Module int }

// FitColumns divides the width that figures leave. With width 0 nothing is cut.
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

// Wrap joins parts, made printable, with a separator, in lines of width, or in one line if width is 0.
func Wrap(width int, sep string, parts ...string) printable.Raw {
	return wrap(width, 0, sep, "", Printables(slices.Clone(parts)))
}

// Paragraph wraps text between words, and indents lines after the first. Width 0 gives one line.
func Paragraph(width int, indent, text string) printable.Raw {
	return wrapWords(width, 0, indent, text)
}

// HangingIndent wraps text that begins in the column indent, as later lines do. Width 0 gives one line.
func HangingIndent(width, indent int, text string) printable.Raw {
	return wrapWords(width, indent, strings.Repeat(" ", indent), text)
}

func wrapWords(width, col int, indent, text string) printable.Raw {
	text = printable.String(text)
	if width == 0 {
		return printable.Raw(text)
	}
	return wrap(width, col, " ", indent, strings.Fields(text))
}

// wrap begins in column col. Lines end in the separator without its spaces.
func wrap(width, col int, sep, indent string, parts []string) printable.Raw {
	var b strings.Builder
	end := strings.TrimRight(sep, " ")
	for i, p := range parts {
		n, room := Width(p), width
		if i < len(parts)-1 {
			room -= Width(end)
		}
		switch {
		case i == 0:
		case width > 0 && col+Width(sep)+n > room:
			b.WriteString(end + "\n" + indent)
			col = Width(indent)
		default:
			b.WriteString(sep)
			col += Width(sep)
		}
		b.WriteString(p)
		col += n
	}
	return printable.Raw(b.String())
}

// Width is in terminal cells: two for wide characters (CJK, emoji), none for combining ones (Unicode Annexes 11, 29).
func Width(s string) int {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return ansi.StringWidth(s)
		}
	}
	return len(s)
}

// PrintedWidth is the width after [printable.String].
func PrintedWidth(s string) int { return Width(printable.String(s)) }

// Fits reports whether a text is at most width cells wide.
func Fits(s string, width int) bool { return Width(s) <= width }

// Cut cuts the end of a text that is too wide.
func Cut(s string, width int) string {
	if Fits(s, width) {
		return s
	}
	return strings.TrimSuffix(head(s, width-1), "…") + "…" // of a shortened name
}

func head(s string, width int) string { return ansi.Truncate(s, width, "") }

func tail(s string, width int) string {
	for cut := max(0, Width(s)-width); ; cut++ { // a wide character may lie across the cut
		if end := ansi.TruncateLeft(s, cut, ""); Width(end) <= width {
			return end
		}
	}
}
