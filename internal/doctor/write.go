package doctor

import (
	"bufio"
	"fmt"
	"io"
	"unicode/utf8"

	"prywalk/internal/printable"
)

// Escape sequences for the words of the levels (ECMA-48, SGR).
var colours = [...]string{OK: "\x1b[32m", Warn: "\x1b[33m", Fail: "\x1b[31;1m"}

// Write prints findings in aligned columns, a remedy below the finding that it
// helps. colour is for terminals.
func Write(w io.Writer, fs []Finding, colour bool) error {
	width := 0
	for _, f := range fs {
		width = max(width, utf8.RuneCountInString(f.Name))
	}
	b := bufio.NewWriter(w)
	for _, f := range fs {
		word := printable.Raw(fmt.Sprintf("%-4s", f.Level))
		if colour {
			word = printable.Raw(colours[f.Level]) + word + "\x1b[0m"
		}
		printable.Fprintf(b, "%s  %-*s  %s\n", word, width, f.Name, f.Detail)
		if f.Remedy != "" {
			printable.Fprintf(b, "      %-*s  → %s\n", width, "", f.Remedy)
		}
	}
	return b.Flush()
}
