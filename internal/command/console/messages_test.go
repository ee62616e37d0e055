// SPDX-License-Identifier: Apache-2.0

package console

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

func TestAnErrorIsACauseAndARemedy(t *testing.T) {
	for _, c := range []struct{ message, cause, remedy string }{
		{"no such process", "no such process", ""},
		{"process 7 has exited; record another", "process 7 has exited", "record another"},
		{"no files (a; b) are left; raise the limit; or not", "no files (a; b) are left", "raise the limit; or not"},
		{"odd [a; {b; c}]) text; give one", "odd [a; {b; c}]) text", "give one"},
		{`"x" is no size: give a number`, `"x" is no size`, "give a number"},
		{"cannot open x: give", "cannot open x: give", ""},
		{"open /x: permission denied: check its owner", "open /x: permission denied", "check its owner"},
	} {
		if cause, remedy := splitRemedy(c.message); cause != c.cause || remedy != c.remedy {
			t.Errorf("%q: %q, %q; want %q, %q", c.message, cause, remedy, c.cause, c.remedy)
		}
	}
}

func TestNamesOfStandardOutput(t *testing.T) {
	for path, want := range map[string]bool{"-": true, "/dev/stdout": true, "/dev/./fd/1": true, "/proc/self/fd/1": true,
		"/dev/fd/2": false, "stdout": false, "": false} {
		if got := IsStdout(path); got != want {
			t.Errorf("%q: %t, want %t", path, got, want)
		}
	}
}

func TestAPipeIsWrittenOnceItHasAReader(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	giveUp := make(chan struct{})
	close(giveUp)
	if _, err := AwaitReader(pipe, giveUp); !errors.Is(err, ErrNoReader) {
		t.Errorf("without a reader: %v, want %v", err, ErrNoReader)
	}
	reader, err := os.OpenFile(pipe, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	release, err := AwaitReader(pipe, nil)
	if err != nil {
		t.Fatal(err)
	}
	var poll [1]unix.PollFd
	poll[0] = unix.PollFd{Fd: int32(reader.Fd()), Events: unix.POLLIN}
	if n, err := unix.Poll(poll[:], 0); n != 0 || err != nil {
		t.Errorf("while the pipe is held: %v, %v, want neither data nor its end", poll, err)
	}
	release()
	if n, err := unix.Poll(poll[:], 0); n != 1 || poll[0].Revents&unix.POLLHUP == 0 || err != nil {
		t.Errorf("after release: %v, %v, want the end", poll, err)
	}
	for _, path := range []string{filepath.Join(t.TempDir(), "none"), t.TempDir()} {
		if release, err := AwaitReader(path, nil); err != nil {
			t.Errorf("%s: %v", path, err)
		} else {
			release()
		}
	}
}

func TestPrintFailsUnlessItsReaderStoppedEarly(t *testing.T) {
	broken := errors.New("broken")
	for err, want := range map[error]error{nil: nil, broken: broken, unix.EPIPE: nil} {
		if got := Print(func(io.Writer) error { return err }); got != want {
			t.Errorf("%v: %v, want %v", err, got, want)
		}
	}
}
