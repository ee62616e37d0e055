// SPDX-License-Identifier: Apache-2.0

package console

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// ErrNoReader tells that nobody reads from the pipe that is to be written to.
var ErrNoReader = errors.New("the pipe has no reader")

const (
	pipePoll    = 20 * time.Millisecond
	pipeWarning = time.Second // after this wait it is told
)

// AwaitReader waits until somebody reads from path, if that is a named pipe: opening one blocks until then. What
// it gives keeps the pipe open until the caller has written. It gives up when the channel is closed.
func AwaitReader(path string, giveUp <-chan struct{}) (release func(), err error) {
	release = func() {}
	began, told := time.Now(), false
	for {
		st, err := os.Stat(path)
		if err != nil || st.Mode()&os.ModeNamedPipe == 0 {
			return release, nil //nolint:nilerr // the write says what is wrong
		}
		f, err := os.OpenFile(path, os.O_WRONLY|unix.O_NONBLOCK, 0)
		if err == nil {
			return func() { f.Close() }, nil
		}
		if !errors.Is(err, unix.ENXIO) { // fifo(7): nobody reads
			return release, nil
		}
		if !told && time.Since(began) > pipeWarning {
			told = true
			Say("waiting for a reader of %s; Ctrl-C to abort", path)
		}
		select {
		case <-giveUp:
			return release, fmt.Errorf("cannot write %s: %w", path, ErrNoReader)
		case <-time.After(pipePoll):
		}
	}
}

// IsStdout reports whether path is a name of the standard output. Opened by it, a socket would fail, and a file
// that is appended to would be written from its beginning.
func IsStdout(path string) bool {
	switch filepath.Clean(path) {
	case "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1":
		return true
	}
	return path == "-"
}
