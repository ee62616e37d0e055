// SPDX-License-Identifier: Apache-2.0

package tabular

import (
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"prywalk/internal/base/printable"
)

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
