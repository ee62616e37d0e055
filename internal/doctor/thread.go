// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// onThread runs f on an OS thread that then ends, with all that f did to it. A Go program's main thread never ends, so
// this goroutine holds it meanwhile.
func onThread(f func() error) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		if unix.Gettid() == unix.Getpid() {
			defer runtime.UnlockOSThread()
			done <- onThread(f)
			return
		}
		done <- f() // still locked: the thread ends with the goroutine
	}()
	return <-done
}

// seize seizes a process's first thread, which stops nothing; the kernel detaches when the tracing thread ends
// (ptrace(2)).
func seize(pid int) error {
	return onThread(func() error { return unix.PtraceSeize(pid) })
}
