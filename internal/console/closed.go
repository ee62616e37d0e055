// SPDX-License-Identifier: Apache-2.0

package console

import (
	"cmp"
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

var errClosed = errors.New("standard output is closed, or is /dev/null opened for reading as well: " +
	"the output would be lost; open a file or a pipe for it, or discard it with > /dev/null")

// CheckStdout fails if standard output was closed at the start: the Go runtime then opens /dev/null for reading and
// writing in its place (runtime, checkfds).
func CheckStdout() error {
	flags, err := unix.FcntlInt(os.Stdout.Fd(), unix.F_GETFL, 0)
	if err != nil {
		return errClosed
	}
	var out, null unix.Stat_t
	if flags&unix.O_ACCMODE != unix.O_RDWR || unix.Fstat(int(os.Stdout.Fd()), &out) != nil ||
		unix.Stat(os.DevNull, &null) != nil {
		return nil
	}
	if out.Mode&unix.S_IFMT == unix.S_IFCHR && out.Rdev == null.Rdev {
		return errClosed
	}
	return nil
}

// Stdout is standard output for writers that drop errors, such as cobra's help.
var Stdout stdout

type stdout struct{ err error }

// Write never fails.
func (s *stdout) Write(b []byte) (int, error) {
	if s.err = cmp.Or(s.err, CheckStdout()); s.err == nil {
		s.err = printed(os.Stdout, func(w io.Writer) error {
			_, err := w.Write(b)
			return err
		})
	}
	return len(b), nil
}

// Err returns the first error of Write.
func (s *stdout) Err() error { return s.err }
