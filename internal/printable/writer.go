// SPDX-License-Identifier: Apache-2.0

package printable

import "io"

// Writer writes texts whose strings are made printable. Its first error stays, and what comes after it is not written.
type Writer struct {
	to  io.Writer
	err error
}

// NewWriter gives one that writes to w.
func NewWriter(w io.Writer) *Writer { return &Writer{to: w} }

// Printf formats, with strings among args made printable.
func (w *Writer) Printf(format string, args ...any) {
	if w.err == nil {
		_, w.err = io.WriteString(w.to, Sprintf(format, args...))
	}
}

// Bytes writes what is printable already.
func (w *Writer) Bytes(b []byte) {
	if w.err == nil {
		_, w.err = w.to.Write(b)
	}
}

// Fail notes an error, unless there was one.
func (w *Writer) Fail(err error) {
	if w.err == nil {
		w.err = err
	}
}

// Err gives the first error.
func (w *Writer) Err() error { return w.err }
