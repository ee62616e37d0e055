// SPDX-License-Identifier: Apache-2.0

package console

import (
	"bufio"
	"cmp"
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// Print writes to standard output. A reader that stops early, such as head, is no error.
func Print(write func(io.Writer) error) error {
	out := bufio.NewWriter(os.Stdout)
	err := cmp.Or(write(out), out.Flush())
	if errors.Is(err, unix.EPIPE) {
		return nil
	}
	return err
}

// Stdout is standard output for writers that drop errors, such as cobra's help.
var Stdout stdout

type stdout struct{ err error }

// Write never fails.
func (s *stdout) Write(b []byte) (int, error) {
	if s.err == nil {
		s.err = Print(func(w io.Writer) error {
			_, err := w.Write(b)
			return err
		})
	}
	return len(b), nil
}

// Err returns the first error of Write.
func (s *stdout) Err() error { return s.err }
