// SPDX-License-Identifier: Apache-2.0

package printable

import (
	"encoding/json"
	"io"
)

// JSONWriter writes JSON in parts. After an error it writes nothing.
type JSONWriter struct {
	to  io.Writer
	err error
}

// NewJSONWriter does not flush w.
func NewJSONWriter(w io.Writer) *JSONWriter { return &JSONWriter{to: w} }

// Text writes a part of JSON.
func (j *JSONWriter) Text(s string) { j.Bytes([]byte(s)) }

// Bytes writes a part of JSON.
func (j *JSONWriter) Bytes(b []byte) {
	if j.err == nil {
		_, j.err = j.to.Write(b)
	}
}

// Comma separates element i of a list.
func (j *JSONWriter) Comma(i int) {
	if i > 0 {
		j.Text(",")
	}
}

// Value writes a value.
func (j *JSONWriter) Value(v any) { j.Bytes(j.Encode(v)) }

// Encode returns the text of a value as [JSON] makes it printable.
func (j *JSONWriter) Encode(v any) []byte {
	text, err := json.Marshal(v)
	if j.err == nil {
		j.err = err
	}
	return JSON(text)
}

// Begin writes an object up to the elements of its last field, a list.
func (j *JSONWriter) Begin(object any, list string) {
	text := j.Encode(object)
	j.Text(string(text[:max(0, len(text)-1)]) + `,"` + list + `":[`)
}

// Err returns the first error.
func (j *JSONWriter) Err() error { return j.err }
