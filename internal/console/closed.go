// SPDX-License-Identifier: Apache-2.0

package console

import (
	"errors"
	"io"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

const discarded = "standard output is closed, or is /dev/null opened for reading as well"

// CheckStdout fails if standard output discards all and may have been closed at the start.
func CheckStdout() error {
	if discards(os.Stdout) {
		return errors.New(discarded + ": the output would be lost; open a file or a pipe for it, " +
			"or discard it with > /dev/null")
	}
	return nil
}

// NoteDiscarded prints a note, once, where [CheckStdout] fails.
func NoteDiscarded() { noteDiscarded() }

var noteDiscarded = sync.OnceFunc(func() {
	if discards(os.Stdout) {
		Infof("note: %s: the output is discarded", discarded)
	}
})

// discards reports whether f is /dev/null, open for reading and writing. The Go runtime opens it so in place of a
// closed descriptor (runtime, checkfds), and other programs for output that is not wanted (Python's DEVNULL, Node's
// "ignore", daemon(3)): the two cannot be distinguished.
func discards(f *os.File) bool {
	flags, err := unix.FcntlInt(f.Fd(), unix.F_GETFL, 0)
	if err != nil {
		return true
	}
	var out, null unix.Stat_t
	if flags&unix.O_ACCMODE != unix.O_RDWR || unix.Fstat(int(f.Fd()), &out) != nil ||
		unix.Stat(os.DevNull, &null) != nil {
		return false
	}
	return out.Mode&unix.S_IFMT == unix.S_IFCHR && out.Rdev == null.Rdev
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
