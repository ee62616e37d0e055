// SPDX-License-Identifier: Apache-2.0

package printable

import (
	"fmt"
	"io"
	"path"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// String gives s with everything that is not printable as an escape: \n, \x1b, \u202e, and \xff for a byte that is no
// UTF-8. Printable is what Unicode classes as letters, marks, numbers, punctuation and symbols, and the ASCII space.
// What is printable stays as it is, so that a text can go through twice.
func String(s string) string {
	clean := 0
	for clean < len(s) && s[clean] >= ' ' && s[clean] < 0x7f {
		clean++
	}
	if clean == len(s) {
		return s
	}
	var b strings.Builder
	b.WriteString(s[:clean])
	for rest := s[clean:]; rest != ""; {
		r, n := utf8.DecodeRuneInString(rest)
		if strconv.IsPrint(r) && !(r == utf8.RuneError && n == 1) {
			b.WriteString(rest[:n])
		} else {
			b.WriteString(escape(r, rest[:n]))
		}
		rest = rest[n:]
	}
	return b.String()
}

// escape writes one character, of these bytes.
func escape(r rune, bytes string) string {
	if r == utf8.RuneError && len(bytes) == 1 {
		return fmt.Sprintf(`\x%02x`, bytes[0])
	}
	quoted := strconv.QuoteRuneToASCII(r)
	return quoted[1 : len(quoted)-1]
}

// UTF8 gives s with an escape, such as \xff, for each byte that is no UTF-8: for formats that want no more.
func UTF8(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for rest := s; rest != ""; {
		r, n := utf8.DecodeRuneInString(rest)
		if r == utf8.RuneError && n == 1 {
			b.WriteString(escape(r, rest[:n]))
		} else {
			b.WriteString(rest[:n])
		}
		rest = rest[n:]
	}
	return b.String()
}

// Line is String for a message, which may be of several: line feeds become spaces.
func Line(s string) string { return String(strings.ReplaceAll(s, "\n", " ")) }

// Raw is a text of prywalk's own that may have escape sequences, such as colours: Sprintf leaves it as it is.
type Raw string

// Sprintf formats like fmt.Sprintf, with strings among args made printable, and errors made printable lines. The
// format is prywalk's own.
func Sprintf(format string, args ...any) string {
	for i, a := range args {
		switch a := a.(type) {
		case string:
			args[i] = String(a)
		case error:
			args[i] = Line(a.Error())
		}
	}
	return fmt.Sprintf(format, args...)
}

// Fprintf writes what Sprintf gives. An error of w is w's to keep: a terminal that is gone is told nothing.
func Fprintf(w io.Writer, format string, args ...any) {
	_, _ = io.WriteString(w, Sprintf(format, args...))
}

// JSON gives a JSON text with what is not printable, and not blank between values, as \u escapes. The values stay the
// same, and a terminal that the text is written to obeys none of them.
func JSON(text []byte) []byte {
	out := make([]byte, 0, len(text))
	for len(text) > 0 {
		r, n := utf8.DecodeRune(text)
		switch {
		case r == '\n' || r == '\t' || r == '\r' || strconv.IsPrint(r):
			out = append(out, text[:n]...)
		case r > 0xffff: // a surrogate pair (RFC 8259 §7)
			r -= 0x10000
			out = fmt.Appendf(out, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
		text = text[n:]
	}
	return out
}

// modules are folders in which modules of Python are installed, and the standard library's.
var modules = regexp.MustCompile(`^.*/(?:(?:site|dist)-packages|python3\.\d+)/`)

// SourceFile gives the part of a source file's path that tells people which one it is: its own name. Many files of
// Python have the same one. Those that are installed have their package with it, and those that are named for their
// folder have that.
func SourceFile(file string) string {
	base := path.Base(file)
	if path.Ext(base) != ".py" {
		return base
	}
	if where := modules.FindString(file); where != "" {
		return file[len(where):]
	}
	if dir := path.Base(path.Dir(file)); strings.HasPrefix(base, "__") && dir != "." && dir != "/" {
		return dir + "/" + base
	}
	return base
}
