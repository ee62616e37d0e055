package census

import (
	"io"
	"os"
	"runtime"
	"sync"

	"golang.org/x/sys/unix"
)

// crowd starts threads that sleep in a read that never returns, says so, and ends
// when its standard input does.
func crowd(n int) {
	var fds [2]int
	if unix.Pipe2(fds[:], unix.O_CLOEXEC) != nil {
		os.Exit(9)
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
	_, _ = os.Stdout.WriteString("ready\n")
	_, _ = io.Copy(io.Discard, os.Stdin)
}
