// SPDX-License-Identifier: Apache-2.0

package printable

import (
	"encoding/json"
	"io"
)

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
