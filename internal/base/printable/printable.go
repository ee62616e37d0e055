// SPDX-License-Identifier: Apache-2.0

// Package printable makes untrusted strings safe to show: a target chooses names, paths and comments with escape
// sequences, which terminals obey, and marks of writing direction, which disguise text. All text for people passes
// through it.
package printable

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
)

// String escapes what is not printable: \n, \x1b, \u202e, \xff for a byte that is not UTF-8. Unicode's letters, marks,
// numbers, punctuation, symbols and the ASCII space stay. Idempotent.
func String(s string) string {
	clean := 0
	for clean < len(s) && s[clean] >= ' ' && s[clean] < 0x7f {
		clean++
	}
	if clean == len(s) {
		return s
	}
	return escapeExcept(s, strconv.IsPrint)
}

// Bytes that are not UTF-8 are always escaped.
func escapeExcept(s string, keep func(rune) bool) string {
	var b strings.Builder
	for rest := s; rest != ""; {
		r, n := utf8.DecodeRuneInString(rest)
		if keep(r) && !(r == utf8.RuneError && n == 1) {
			b.WriteString(rest[:n])
		} else {
			b.WriteString(escape(r, rest[:n]))
		}
		rest = rest[n:]
	}
	return b.String()
}

func escape(r rune, bytes string) string {
	if r == utf8.RuneError && len(bytes) == 1 {
		return fmt.Sprintf(`\x%02x`, bytes[0])
	}
	quoted := strconv.QuoteRuneToASCII(r)
	return quoted[1 : len(quoted)-1]
}

// UTF8 escapes only bytes that are not UTF-8, as \xff.
func UTF8(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return escapeExcept(s, func(rune) bool { return true })
}

// Line is [String] with spaces for line feeds.
func Line(s string) string { return String(strings.ReplaceAll(s, "\n", " ")) }

// Raw is prywalk's own text, which [Sprintf] does not escape.
type Raw string

// Sprintf escapes strings and errors among args, but not the format.
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

// Fprintf writes as [Sprintf] formats. It ignores errors of w.
func Fprintf(w io.Writer, format string, args ...any) {
	_, _ = io.WriteString(w, Sprintf(format, args...))
}

// JSON escapes what is not printable in a JSON text; values stay equal.
func JSON(text []byte) []byte {
	out := make([]byte, 0, len(text))
	for len(text) > 0 {
		r, n := utf8.DecodeRune(text)
		switch {
		case r == '\n' || r == '\t' || r == '\r' || strconv.IsPrint(r):
			out = append(out, text[:n]...)
		case r > 0xffff: // RFC 8259 §7
			r -= 0x10000
			out = fmt.Appendf(out, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
		text = text[n:]
	}
	return out
}

// Writer writes printable text. It stops at the first error.
type Writer struct {
	to  io.Writer
	err error
}

// NewWriter returns a Writer to w.
func NewWriter(w io.Writer) *Writer { return &Writer{to: w} }

// Printf formats as [Sprintf] does.
func (w *Writer) Printf(format string, args ...any) {
	if w.err == nil {
		_, w.err = io.WriteString(w.to, Sprintf(format, args...))
	}
}

// Bytes writes printable text.
func (w *Writer) Bytes(b []byte) {
	if w.err == nil {
		_, w.err = w.to.Write(b)
	}
}

// Fail sets the error, unless there is one.
func (w *Writer) Fail(err error) {
	if w.err == nil {
		w.err = err
	}
}

// Err returns the first error.
func (w *Writer) Err() error { return w.err }

// WriteJSON writes a value as a line of JSON.
func WriteJSON(w io.Writer, v any) error {
	out := NewJSONWriter(w)
	out.Bytes(append(out.Encode(v), '\n'))
	return out.Err()
}

// JSONWriter writes JSON in parts. After an error it writes nothing.
type JSONWriter struct{ Writer }

// NewJSONWriter returns a writer to w, which it does not flush.
func NewJSONWriter(w io.Writer) *JSONWriter { return &JSONWriter{Writer{to: w}} }

// Text writes a part of JSON.
func (j *JSONWriter) Text(s string) { j.Bytes([]byte(s)) }

// Comma separates element i of a list.
func (j *JSONWriter) Comma(i int) {
	if i > 0 {
		j.Text(",")
	}
}

// Value writes a value.
func (j *JSONWriter) Value(v any) { j.Bytes(j.Encode(v)) }

// Encode returns a value's printable text ([JSON]).
func (j *JSONWriter) Encode(v any) []byte {
	text, err := json.Marshal(v)
	j.Fail(err)
	return JSON(text)
}

// Begin writes an object up to the elements of its last field, a list.
func (j *JSONWriter) Begin(object any, list string) {
	text := j.Encode(object)
	j.Text(string(text[:max(0, len(text)-1)]) + `,"` + list + `":[`)
}
