// SPDX-License-Identifier: Apache-2.0

package console

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

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

// ErrNoReader means that a pipe has no reader.
var ErrNoReader = errors.New("the pipe has no reader")

const (
	pipePoll    = 20 * time.Millisecond
	pipeWarning = time.Second
)

// AwaitReader waits until a named pipe has a reader or giveUp is closed. Call release, which closes it, after writing.
func AwaitReader(path string, giveUp <-chan struct{}) (release func(), err error) {
	release = func() {}
	began, reported := time.Now(), false
	for {
		st, err := os.Stat(path)
		if err != nil || st.Mode()&os.ModeNamedPipe == 0 {
			return release, nil //nolint:nilerr // the write says what is wrong
		}
		f, err := os.OpenFile(path, os.O_WRONLY|unix.O_NONBLOCK, 0)
		if err == nil {
			return func() { f.Close() }, nil
		}
		if !errors.Is(err, unix.ENXIO) { // fifo(7): no reader
			return release, nil
		}
		if !reported && time.Since(began) > pipeWarning {
			reported = true
			Infof("waiting for a reader of %s; Ctrl-C to abort", path)
		}
		select {
		case <-giveUp:
			return release, fmt.Errorf("cannot write %s: %w", path, ErrNoReader)
		case <-time.After(pipePoll):
		}
	}
}

// IsStdout reports whether path names standard output. Opened by path, a socket would fail, and a file in append mode
// be overwritten.
func IsStdout(path string) bool {
	switch filepath.Clean(path) {
	case "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1":
		return true
	}
	return path == "-"
}
