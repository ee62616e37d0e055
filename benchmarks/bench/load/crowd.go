// SPDX-License-Identifier: Apache-2.0

package load

import (
	"runtime"
	"sync"

	"golang.org/x/sys/unix"
)

// Crowd starts n threads that sleep in a read of an empty pipe.
func Crowd(n int) error {
	if n == 0 {
		return nil
	}
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
		return err
	}
	var asleep sync.WaitGroup
	asleep.Add(n)
	for range n {
		go func() {
			runtime.LockOSThread()
			asleep.Done()
			var b [1]byte
			for {
				if _, err := unix.Read(fds[0], b[:]); err != unix.EINTR {
					return
				}
			}
		}()
	}
	asleep.Wait()
	return nil
}
