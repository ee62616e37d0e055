// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"os"

	"golang.org/x/sys/unix"
)

// pipe makes a pipe whose reads block the OS thread; os.Pipe's wait in the Go runtime's poller.
func pipe() (r, w int) {
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
		panic(os.NewSyscallError("pipe2", err))
	}
	return fds[0], fds[1]
}

func readFD(fd int, b []byte) {
	for {
		if _, err := unix.Read(fd, b); err != unix.EINTR {
			return
		}
	}
}

func closeFD(fd int) { _ = unix.Close(fd) }
