// SPDX-License-Identifier: Apache-2.0

package printable

import "io"

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
